// Stops threads of another program by ptrace, one at a time, and lets them go again as they were: no signal is lost, no
// system call fails because of it.
//
// A thread that does not stop in time is late. It stops as soon as it can, whenever that is, and must then be let go at
// once: let_others_go() is called wherever this program waits, for whatever.
//
// A thread that ends while it is traced stays until this process has noticed. Exec waits for that in the program, and
// makes every ptrace of it wait, and on older kernels each read of its memory: so a thread of our own takes notice.
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "base/types.h"

namespace tprof {

class Tracer {
 public:
  Tracer();
  ~Tracer() { release(); }
  Tracer(const Tracer&) = delete;

  // A thread was blocked in a call that a stop breaks. Once it is ready to run its call may be just about to end, and a
  // stop would break it still: stop() answers "busy" until it has run.
  void leave_alone(pid_t tid, i64 times_run) { left_alone_[tid] = times_run; }

  // "" if the thread is stopped, else what tprof-stack answers. `patience_ns`: for it to stop.
  std::string stop(pid_t tid, u64 patience_ns);
  // Lets it run on. Returns for how long it was stopped, in nanoseconds.
  u64 release();

  // Lets every other thread go that has stopped, and takes notice of those that have ended. False: no thread is traced.
  bool let_others_go();

 private:
  bool take_stop(pid_t tid, int& signal);
  bool repeat_interrupted_call(pid_t tid);
  std::string wait_for_stop(pid_t tid, u64 patience_ns);

  struct Traced;
  std::shared_ptr<Traced> traced_;
  pid_t wanted_ = 0;       // is to be stopped, or is
  bool stopped_ = false;   // it is
  int signal_ = 0;         // that was about to be delivered to it
  u64 stopped_at_ns_ = 0;  // CLOCK_MONOTONIC; the last moment at which it was known to run
  std::map<pid_t, i64> left_alone_;
};

}  // namespace tprof
