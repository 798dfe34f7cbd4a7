#include "run/group_witness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/signal_state.h"

namespace tprof {
namespace {

constexpr int kLooks = 10, kBetween_us = 2'000;

// Nothing of the program's may be held open: the other end of a pipe waits for its last holder.
void close_all() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0) return;
#endif
  for (int fd = 0, most = int(sysconf(_SC_OPEN_MAX)); fd < most; fd++) close(fd);
}

}  // namespace

void GroupWitness::start() {
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  close_all();
  // As another program, so that `pkill tprof` signals tprof alone.
  char name[] = "sleep", time[] = "infinity";
  char *words[] = {name, time, nullptr}, *no_variables[] = {nullptr};
  execvpe(name, words, no_variables);
  for (;;) pause();
}

void GroupWitness::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool GroupWitness::has_seen(int signal) const {
  if (pid_ <= 0) return false;
  for (int look = 0; look < kLooks; look++, usleep(kBetween_us))
    if (signal_waits(pid_, signal)) return true;
  return false;
}

}  // namespace tprof
