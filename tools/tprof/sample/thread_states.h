// Whether the threads of a program run: /proc/<pid>/task/<tid>/stat, kept open. Of a thread that did not run when it
// was asked last, /proc/<pid>/task/<tid>/schedstat says in a quarter of the time whether it has run since.
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

  // Looks at a thread anew. False: it has not run since the look before, and did not run then.
  bool has_run(u32 tid);
  // By the last look: it runs, or would if a processor were free.
  bool is_on_cpu(u32 tid) const;
  std::string name_of(u32 tid) const;
  // Closes the files of threads that were not asked for since the last call.
  void forget_others();

 private:
  struct File {
    int stat = -1, schedstat = -1;
    u64 round = 0;
    std::string times;  // the line in schedstat: the time that it ran, the time that it waited, how often it began
    bool on_cpu = true;
  };
  static void close_files(const File& file);
  int pid_;
  u64 round_ = 1;
  std::map<u32, File> files_;
};

}  // namespace tprof
