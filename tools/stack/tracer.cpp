#include "tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "remote/process.h"
#include "waiting_call.h"

namespace tprof {
namespace {

bool has_signal(const std::string& mask, const std::string& blocked) {
  return strtoull(mask.c_str(), nullptr, 16) & ~strtoull(blocked.c_str(), nullptr, 16);
}

sigset_t only_sigchld() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Whether a thread is traced no more. Of one that has ended this takes notice. Asked for ended ones alone, the kernel
// answers with stopped ones, too, which must be left to who lets them go.
bool has_ended(pid_t tid) {
  siginfo_t info{};
  if (waitid(P_PID, id_t(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return true;
  if (!info.si_pid || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) return false;
  return waitpid(tid, nullptr, __WALL | WNOHANG) == tid;
}

}  // namespace

// The threads that were asked to stop, for the thread that notices their end.
struct Tracer::Traced {
  void add(pid_t tid) {
    std::lock_guard lock(mutex);
    tids.insert(tid);
  }
  void notice() {
    sigset_t ended = only_sigchld();
    for (int signal;;) {
      sigwait(&ended, &signal);
      std::lock_guard lock(mutex);
      std::erase_if(tids, has_ended);
    }
  }
  std::mutex mutex;
  std::set<pid_t> tids;
};

Tracer::Tracer() : traced_(std::make_shared<Traced>()) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;  // SIGCHLD for those that have ended alone
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t ended = only_sigchld();
  pthread_sigmask(SIG_BLOCK, &ended, nullptr);
  std::thread([traced = traced_] { traced->notice(); }).detach();
}

std::string Tracer::stop(pid_t tid, u64 patience_ns) {
  if (auto left = left_alone_.find(tid); left != left_alone_.end()) {
    if (left->second >= 0 && left->second == times_run(tid)) return "busy";
    left_alone_.erase(left);
  }
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
    if (errno == ESRCH) return "gone";
    int error = errno;
    bool is_late = remote::status_field(tid, "TracerPid") == std::to_string(getpid());
    return is_late ? "busy" : "refused " + std::to_string(error);
  }
  traced_->add(tid);
  wanted_ = tid;
  std::string why_not = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 ? wait_for_stop(tid, patience_ns) : "gone";
  if (!why_not.empty()) wanted_ = 0;
  return why_not;
}

// SIGCHLD is not awaited but polled for: most threads stop within microseconds. One that waits for a processor stops
// only when it gets one, but is not held up by that.
std::string Tracer::wait_for_stop(pid_t tid, u64 patience_ns) {
  u64 asked_ns = clock_ns(CLOCK_MONOTONIC);
  for (useconds_t pause = 10;; pause = pause < 1000 ? 2 * pause : pause) {
    stopped_at_ns_ = clock_ns(CLOCK_MONOTONIC);
    stopped_ = take_stop(tid, signal_);
    if (stopped_) return "";
    if (errno == ECHILD) return "gone";
    if (stopped_at_ns_ - asked_ns > patience_ns) return "busy";
    let_others_go();
    usleep(pause);
  }
}

// Without waiting. False: it has not stopped (errno is 0), or has ended (ECHILD).
bool Tracer::take_stop(pid_t tid, int& signal) {
  int status = 0;
  errno = 0;
  if (waitpid(tid, &status, __WALL | WNOHANG) != tid) return false;
  if (!WIFSTOPPED(status)) {
    errno = ECHILD;
    return false;
  }
  // Else a signal was being delivered just now: it is passed on when the thread is released.
  signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
  if (!signal && repeat_interrupted_call(tid)) leave_alone(tid, times_run(tid));
  return true;
}

// Most system calls that a stop interrupts are restarted by the kernel. Some fail with EINTR instead, which the program
// would not have seen without us: unless a signal is pending, which would have interrupted it as well, the thread makes
// the call again, with the same arguments. A thread that has been in such a call for a while is not stopped, so this
// one has only just begun. On aarch64 the kernel does not tell the first argument.
bool Tracer::repeat_interrupted_call([[maybe_unused]] pid_t tid) {
#ifdef __x86_64__
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0) return false;
  if (i64(registers.rax) != -EINTR || !is_made_again(i64(registers.orig_rax))) return false;
  std::string blocked = remote::status_field(tid, "SigBlk");
  if (has_signal(remote::status_field(tid, "SigPnd"), blocked) ||
      has_signal(remote::status_field(tid, "ShdPnd"), blocked))
    return false;
  constexpr u64 kInstructionBytes = 2;  // of syscall
  registers.rip -= kInstructionBytes;
  registers.rax = registers.orig_rax;
  return ptrace(PTRACE_SETREGS, tid, 0, &registers) == 0;
#else
  return false;
#endif
}

u64 Tracer::release() {
  if (!std::exchange(stopped_, false)) return 0;
  ptrace(PTRACE_DETACH, wanted_, 0, signal_);
  wanted_ = 0;
  return clock_ns(CLOCK_MONOTONIC) - stopped_at_ns_;
}

// A thread that calls exec while it is late takes the id of its process.
bool Tracer::let_others_go() {
  for (;;) {
    siginfo_t next{};
    if (waitid(P_ALL, 0, &next, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return false;
    if (!next.si_pid || next.si_pid == wanted_) return true;
    int signal = 0;
    if (take_stop(next.si_pid, signal)) ptrace(PTRACE_DETACH, next.si_pid, 0, signal);
  }
}

}  // namespace tprof
