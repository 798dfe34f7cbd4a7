// One thread of another program, stopped by ptrace and let go again as it was: no signal is lost, no system call of its
// fails because of it.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/types.h"

namespace tprof {

class StoppedThread {
 public:
  // `patience_ns`: for it to stop.
  StoppedThread(pid_t tid, u64 patience_ns);
  ~StoppedThread() { release(); }
  StoppedThread(const StoppedThread&) = delete;

  // "" if it is stopped, else what tprof-stack answers.
  const std::string& why_not() const { return why_not_; }
  // CLOCK_MONOTONIC; the last moment at which it was known to run.
  u64 stopped_at_ns() const { return stopped_at_ns_; }
  void release();

  pid_t tid() const { return tid_; }
  // It was asked to stop and did not in time: it will, and must be let go then.
  bool is_late() const { return late_; }
  // Of a late thread, without waiting: whether it has stopped by now, or ended.
  bool has_stopped();

 private:
  enum class Found { nothing, stopped, gone };
  Found look();
  bool wait_for_stop(u64 patience_ns);
  void repeat_interrupted_call();

  pid_t tid_;
  bool stopped_ = false, late_ = false;
  int signal_ = 0;  // that was about to be delivered
  u64 stopped_at_ns_ = 0;
  std::string why_not_;
};

}  // namespace tprof
