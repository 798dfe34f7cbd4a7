// Runs one program as if tprof were not there: same process group and session, same signals, same end.
//
// The child gets exactly the signal mask and dispositions that tprof got. Signals that reach the program anyway are not
// repeated: those from the terminal (Ctrl-C, Ctrl-\), and those to the whole process group. Those that were sent to
// tprof alone (kill, a scheduler, docker stop; a hang-up if tprof leads the session) are passed on. As PID 1, tprof
// reaps orphans. If tprof is killed, the program goes on.
#pragma once
#include <signal.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/group_witness.h"

namespace tprof {

class Supervisor {
 public:
  // Blocks all signals; run() and interrupted() wait for them.
  Supervisor();

  // Starts the program, which is searched for as by execvp(), and returns its wait status when it has ended.
  // `flush_signal` (0: none) is not simply passed on, since its default action would kill the program: `flush` is
  // called with the program's pid, and sends it to the processes that handle it. `died`: called when the program died
  // by a signal, before its end is acknowledged.
  int run(const std::vector<std::string>& program, int flush_signal, const std::function<void(int pid)>& flush,
          const std::function<void(int pid, int signal)>& died);

  // Whether the user has sent INT, TERM, HUP or QUIT to end the wait that follows the program's end.
  bool interrupted();

  // For children that tprof forks: restores the signal mask and dispositions that tprof got.
  void restore() const;

  // Ends this process as the program ended: with the same exit status, or by the same signal but without a second core
  // file. As PID 1, which cannot die by a signal, with 128 + signal.
  [[noreturn]] void end_like(int wait_status) const;

 private:
  void pass_on(int child, const siginfo_t& info, int flush_signal, const std::function<void(int)>& flush);

  sigset_t old_mask_;
  struct sigaction old_actions_[65] = {};
  std::optional<GroupWitness> witness_;  // while the program runs
  bool interrupted_ = false;
};

}  // namespace tprof
