// Tells whether a signal that tprof has got was sent to its whole process group, or to every process of a job step, so
// that the program has got it as well: by os.killpg() as Jupyter interrupts a kernel, timeout, a shell that hangs up,
// srun. The signal's own facts do not say so. A process in the group that blocks all signals does: it has it, too.
#pragma once
#include <sys/types.h>

namespace tprof {

class GroupWitness {
 public:
  // All signals must be blocked. Without a witness (no process can be started) has_seen() is false.
  GroupWitness() { start(); }
  ~GroupWitness() { stop(); }
  GroupWitness(const GroupWitness&) = delete;

  // Whether the signal came to the witness, too. Who signals processes one by one takes a moment: up to 20 ms.
  bool has_seen(int signal) const;
  // Forgets what it has seen. Signals stay with a process that blocks them, so another one takes its place.
  void renew() { stop(), start(); }

 private:
  void start();
  void stop();

  pid_t pid_ = -1;
};

}  // namespace tprof
