// Whether the threads of a program run: /proc/<pid>/task/<tid>/stat, kept open.
#pragma once
#include <map>
#include <string>

#include "base/types.h"

namespace tprof {

class ThreadStates {
 public:
  explicit ThreadStates(int pid) : pid_(pid) {}
  ~ThreadStates();
  ThreadStates(const ThreadStates&) = delete;

  // Runs, or would if a processor were free.
  bool is_on_cpu(u32 tid);
  std::string name_of(u32 tid) const;
  // Closes the files of threads that were not asked for since the last call.
  void forget_others();

 private:
  struct File {
    int fd;
    u64 round;
  };
  int pid_;
  u64 round_ = 1;
  std::map<u32, File> files_;
};

}  // namespace tprof
