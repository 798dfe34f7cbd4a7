#include "run/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/error.h"
#include "base/printable.h"
#include "run/signal_state.h"

namespace tprof {
namespace {

constexpr int kLastSignal = 64;

bool is_fault(int signal) { return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL; }

// Whether another process has sent the signal to this one, by kill() for example. The terminal's signals come from the
// kernel.
bool sent_to_us(const siginfo_t& info) {
  bool by_process = info.si_code == SI_USER || info.si_code == SI_TKILL || info.si_code == SI_QUEUE;
  return by_process && info.si_pid != getpid();
}

// Which child has ended or was stopped, and how; it stays so until it is waited for. si_pid 0: none.
siginfo_t next_change(int child) {
  siginfo_t out = {};
  bool all = getpid() == 1;
  if (waitid(all ? P_ALL : P_PID, all ? 0 : id_t(child), &out, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) return {};
  return out;
}

// Whether the terminal was closed, which the kernel tells the leader of the session alone; the others learn it when the
// leader ends.
bool is_hangup_for_the_leader(const siginfo_t& info) { return info.si_signo == SIGHUP && getsid(0) == getpid(); }

}  // namespace

Supervisor::Supervisor() {
  sigset_t all;
  sigfillset(&all);
  for (int s = 1; s <= kLastSignal; s++) {
    sigaction(s, nullptr, &old_actions_[s]);
    if (is_fault(s)) sigdelset(&all, s);
  }
  sigprocmask(SIG_BLOCK, &all, &old_mask_);
  // If SIGCHLD is ignored, as a parent may have left it, the kernel reaps the program before waitpid() can.
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &by_default, nullptr);
}

void Supervisor::restore() const {
  sigaction(SIGCHLD, &old_actions_[SIGCHLD], nullptr);
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

int Supervisor::run(const std::vector<std::string>& program, int flush_signal, const std::function<void(int)>& flush,
                    const std::function<void(int, int)>& died) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int child = fork();
  if (child < 0) throw Error(Fault::usage, std::string("cannot start a process: ") + strerror(errno));
  if (child == 0) {
    restore();
    execvp(argv[0], argv.data());
    int why = errno;
    print(stderr, "tprof: " + printable(program[0]) + ": " + strerror(why) + "\n");
    _exit(why == ENOENT ? 127 : 126);
  }
  witness_.emplace();
  sigset_t all;
  sigfillset(&all);
  for (;;) {
    int status = 0;
    // PID 1 inherits every orphan of the container and must reap them. Otherwise the program is the only child to wait
    // for.
    for (siginfo_t change; (change = next_change(child)).si_pid;) {
      bool killed = change.si_code == CLD_KILLED || change.si_code == CLD_DUMPED;
      if (killed && change.si_pid == child && died) died(child, change.si_status);
      int pid = waitpid(change.si_pid, &status, WNOHANG | WUNTRACED);
      if (pid <= 0 || pid != child) continue;
      if (!WIFSTOPPED(status)) return witness_.reset(), status;
      // Ctrl-Z: the shell must see tprof stop as well, and its SIGCONT wakes both. A SIGSTOP that was sent to the
      // program alone is not followed, since nobody would wake tprof again.
      if (WSTOPSIG(status) != SIGSTOP) kill(getpid(), SIGSTOP);
    }
    siginfo_t info;
    if (sigwaitinfo(&all, &info) > 0) pass_on(child, info, flush_signal, flush);
  }
}

void Supervisor::pass_on(int child, const siginfo_t& info, int flush_signal, const std::function<void(int)>& flush) {
  int signal = info.si_signo;
  switch (signal) {
    case SIGCHLD: return;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: break;
    // An alarm survives exec but not fork: the parent of tprof has set it for the program.
    case SIGALRM: kill(child, SIGALRM); return;
    case SIGCONT: kill(child, SIGCONT); return;
  }
  if (!sent_to_us(info)) {
    if (is_hangup_for_the_leader(info)) kill(child, SIGHUP);
    return witness_->renew();
  }
  if (getpgid(child) == getpgrp() && witness_->has_seen(signal)) return witness_->renew();
  if (flush_signal && signal == flush_signal) {
    flush(child);
    // The signal would kill a program without tprof's handler, unless the program ignores it or waits by sigwait().
    bool wanted =
        !signal_is_caught(child, signal) && (signal_is_ignored(child, signal) || signal_is_blocked(child, signal));
    if (!wanted) return;
  }
  if (info.si_code == SI_QUEUE)
    sigqueue(child, signal, info.si_value);
  else
    kill(child, signal);
}

bool Supervisor::interrupted() {
  sigset_t asked;
  sigemptyset(&asked);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (old_actions_[s].sa_handler != SIG_IGN) sigaddset(&asked, s);
  timespec at_once = {};
  while (sigtimedwait(&asked, nullptr, &at_once) > 0) interrupted_ = true;
  return interrupted_;
}

void Supervisor::end_like(int wait_status) const {
  fflush(nullptr);
  if (!WIFSIGNALED(wait_status)) _exit(WEXITSTATUS(wait_status));
  int signal = WTERMSIG(wait_status);
  if (getpid() != 1) {
    // The program's core file, if any, is the one of interest.
    lower_limit(RLIMIT_CORE, 0);
    prctl(PR_SET_DUMPABLE, 0);
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
  }
  _exit(128 + signal);
}

}  // namespace tprof
