// Runs one program as if tprof were not there: same process group and session, same signals, same end.
//
// The child gets exactly the signal mask and dispositions that tprof got. What the terminal sends (Ctrl-C,
// Ctrl-\, hang-up) reaches the whole foreground group anyway and is not repeated; what was sent to tprof
// alone (kill, a scheduler, docker stop) is passed on. As PID 1 it reaps orphans. If tprof is killed, the
// program goes on.
#pragma once
#include <signal.h>

#include <functional>
#include <string>
#include <vector>

namespace tprof {

class Supervisor {
 public:
  // Blocks all signals; they are only looked at in run() and interrupted().
  Supervisor();

  // Starts the program (found like execvp does) and returns its wait status when it has ended. `flush_signal`
  // (0: none) is not passed on blindly, as its default action would kill the program: `flush` is called with
  // the program's pid and sends it to whoever handles it.
  int run(const std::vector<std::string>& program, int flush_signal, const std::function<void(int pid)>& flush);

  // True once the user has asked (INT, TERM, HUP, QUIT) to stop waiting for what comes after the program's
  // end.
  bool interrupted();

  // For forked children of ours: signals as tprof itself got them.
  void restore() const;

  // Ends this process as the program ended: same exit status, or by the same signal (no second core file); as
  // PID 1, which cannot die by a signal, with 128+n.
  [[noreturn]] void end_like(int wait_status) const;

 private:
  void pass_on(int child, const siginfo_t& info, int flush_signal, const std::function<void(int)>& flush);

  sigset_t old_mask_;
  struct sigaction old_actions_[65] = {};
  bool interrupted_ = false;
};

// Whether a process has its own handler for a signal (SigCgt in /proc/<pid>/status).
bool catches_signal(int pid, int signal);

}  // namespace tprof
