#include "stopped_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "remote/process.h"

namespace tprof {
namespace {

u64 now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return u64(t.tv_sec) * 1'000'000'000 + u64(t.tv_nsec);
}

bool has_signal(const std::string& mask, const std::string& blocked) {
  return strtoull(mask.c_str(), nullptr, 16) & ~strtoull(blocked.c_str(), nullptr, 16);
}

}  // namespace

StoppedThread::StoppedThread(pid_t tid, u64 patience_ns) : tid_(tid) {
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
    why_not_ = errno == ESRCH ? "gone" : "refused " + std::to_string(errno);
    return;
  }
  if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || !wait_for_stop(patience_ns))
    if (!late_) why_not_ = "gone";
}

// Without waiting.
StoppedThread::Found StoppedThread::look() {
  int status = 0;
  pid_t found = waitpid(tid_, &status, __WALL | WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return Found::nothing;
  if (found != tid_ || !WIFSTOPPED(status)) return Found::gone;
  stopped_ = true;
  // Else a signal was being delivered just now: it is passed on when the thread is released.
  if (status >> 16 != PTRACE_EVENT_STOP) signal_ = WSTOPSIG(status);
  if (!signal_) repeat_interrupted_call();
  return Found::stopped;
}

// SIGCHLD is not awaited but polled for: most threads stop within microseconds. One that waits for a processor stops
// only when it gets one, but is not held up by that.
bool StoppedThread::wait_for_stop(u64 patience_ns) {
  u64 asked_ns = now_ns();
  for (useconds_t pause = 10;; pause = pause < 1000 ? 2 * pause : pause) {
    stopped_at_ns_ = now_ns();
    if (Found found = look(); found != Found::nothing) return found == Found::stopped;
    if (stopped_at_ns_ - asked_ns > patience_ns) {
      late_ = true;
      why_not_ = "busy";
      return false;
    }
    usleep(pause);
  }
}

bool StoppedThread::has_stopped() { return look() != Found::nothing; }

// Most system calls that a stop interrupts are restarted by the kernel. A few (epoll_wait, sigtimedwait, semop, ...)
// fail with EINTR instead, which the program would not have seen without us: unless a signal is pending, which would
// have interrupted it as well, the thread makes the call again, with the same arguments.
void StoppedThread::repeat_interrupted_call() {
#ifdef __x86_64__
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid_, 0, &registers) != 0) return;
  if (i64(registers.orig_rax) < 0 || i64(registers.rax) != -EINTR) return;
  std::string blocked = remote::status_field(tid_, "SigBlk");
  if (has_signal(remote::status_field(tid_, "SigPnd"), blocked) ||
      has_signal(remote::status_field(tid_, "ShdPnd"), blocked))
    return;
  constexpr u64 kInstructionBytes = 2;  // of syscall
  registers.rip -= kInstructionBytes;
  registers.rax = registers.orig_rax;
  ptrace(PTRACE_SETREGS, tid_, 0, &registers);
#endif
}

// A late thread cannot be released before it has stopped; it is at the latest when this process ends.
void StoppedThread::release() {
  if (!stopped_) return;
  stopped_ = false;
  ptrace(PTRACE_DETACH, tid_, 0, signal_);
}

}  // namespace tprof
