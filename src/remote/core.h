// A core file as remote::Memory: what the program had in memory when it died. What the kernel left out of the file,
// code above all, is read from the files that were mapped, if they are still what they were.
#pragma once
#include <memory>

#include "remote/memory.h"

namespace tprof::remote {

class Core : public Memory {
 public:
  // Throws Error(Fault::unreadable) with one line.
  static std::unique_ptr<Core> open(const std::string& path);
  ~Core() override;

  bool read(u64 address, void* to, size_t bytes) const override;
  std::vector<int> threads() const override { return threads_; }  // the one that got the signal first

  int pid() const { return pid_; }
  int signal() const { return signal_; }                   // that ended the program; 0: none
  const std::string& command() const { return command_; }  // as the kernel noted it, cut to 80 characters

 private:
  struct Segment {
    u64 begin, bytes, in_file, offset;  // in_file: how many of the bytes the core file holds
  };
  Core() = default;
  void read_notes(const std::string& notes);
  void read_files(const std::string& note);

  int fd_ = -1, pid_ = 0, signal_ = 0;
  std::string command_;
  std::vector<int> threads_;
  std::vector<Segment> segments_;
  mutable std::vector<int> files_;  // by mapping; -1: cannot be opened, -2: not tried
};

}  // namespace tprof::remote
