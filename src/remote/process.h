// A live process as remote::Memory, read with process_vm_readv: the process is not stopped and not changed.
#pragma once
#include <memory>

#include "base/process.h"
#include "remote/memory.h"

namespace tprof::remote {

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
  ~Process() override;

  int pid() const { return pid_; }
  bool read(u64 address, void* to, size_t bytes) const override;
  // In as few system calls as possible: one, if all of them are mapped there.
  bool read_pieces(std::vector<Piece>& pieces) const override;
  std::string path_here(const Mapping& mapping) const override { return remote::path_here(pid_, mapping); }

  // Whether this process, with the rights that it has now, may read the program's memory.
  bool can_be_read() const;

  // The ids of its threads, ascending; empty once it has ended.
  std::vector<int> threads() const override;
  // Whether the pid still belongs to this process, which since open() has neither started another program (exec) nor
  // changed its user or group. Else what was read may be of a program that the one who asked was not meant to show: it
  // is to be asked after each look, before anything is shown or kept.
  bool is_same() const;
  // Reads them anew. Whether those that code runs from are others than before.
  bool read_mappings();

 private:
  struct Being {
    u64 start_time = 0;  // 0: there is no such process
    std::string exe;     // the program's file; empty: it may not be looked at
    std::string ids;     // users and groups: real, effective, saved, of the file system
    bool operator==(const Being&) const = default;
  };
  explicit Process(int pid);
  Process(const Process&) = delete;
  static Being being_of(int pid);

  int pid_, pidfd_;  // pidfd: -1 where the kernel has none
  Being being_;
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
