// One thread of another program, stopped by ptrace and let go again as it was: no signal is lost, no system call of its
// fails because of it.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/types.h"

namespace tprof {

class StoppedThread {
 public:
  explicit StoppedThread(pid_t tid);
  ~StoppedThread() { release(); }
  StoppedThread(const StoppedThread&) = delete;

  // "" if it is stopped, else what tprof-stack answers.
  const std::string& why_not() const { return why_not_; }
  // CLOCK_MONOTONIC; the last moment at which it was known to run.
  u64 stopped_at_ns() const { return stopped_at_ns_; }
  void release();

 private:
  bool wait_for_stop();
  void repeat_interrupted_call();

  pid_t tid_;
  bool stopped_ = false;
  int signal_ = 0;  // that was about to be delivered
  u64 stopped_at_ns_ = 0;
  std::string why_not_;
};

}  // namespace tprof
