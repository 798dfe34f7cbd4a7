// A live process as remote::Memory, read with process_vm_readv: the process is not stopped and not changed.
#pragma once
#include <memory>

#include "base/process.h"
#include "remote/memory.h"

namespace tprof::remote {

// A part of a program's memory to be read with others in one call.
struct Piece {
  u64 address = 0;
  void* to = nullptr;
  size_t bytes = 0;
  bool read = false;  // set: all of it was read
};

// What a process has mapped, in order of address; empty if it may not be looked at. For this, less is needed than for
// Process::open().
std::vector<Mapping> mappings_of(int pid);
// See Memory::path_here().
std::string path_here(int pid, const Mapping& mapping);

class Process : public Memory {
 public:
  // Throws Error(Fault::unreadable) with one line that says what to do: there is no such process, it may not be read
  // (other user, Yama, a process that is not dumpable), or it is of another architecture.
  static std::unique_ptr<Process> open(int pid);

  int pid() const { return pid_; }
  bool read(u64 address, void* to, size_t bytes) const override;
  // Reads the pieces in their order, in as few system calls as possible: one, if all of them are mapped there. False if
  // nothing at all could be read.
  bool read(std::vector<Piece>& pieces) const;
  std::string path_here(const Mapping& mapping) const override { return remote::path_here(pid_, mapping); }
  u32 user() const override;

  // The ids of its threads, ascending; empty once it has ended.
  std::vector<int> threads() const;
  // Whether the pid still belongs to this process, which has not called exec since open().
  bool is_same() const;
  // Reads them anew. Whether those that code runs from are others than before.
  bool read_mappings();

 private:
  explicit Process(int pid) : pid_(pid) {}
  bool can_be_read() const;

  int pid_;
  ProcessIdentity identity_;
  std::string exe_;
};

// Why a process may not be traced or read, and what to do about it: "it belongs to user 1001; run this as that user or
// as root".
std::string refusal(int pid);

// A field of /proc/<pid>/status, without blanks around it; empty if there is none.
std::string status_field(int pid, const char* name);

// The id of a process or thread in its own pid namespace, which another one has in a container. What the program's
// memory holds is this one.
int innermost_id(int id);

}  // namespace tprof::remote
