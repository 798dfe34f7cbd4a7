// For the processes beside a program: a scheduler's signal to all processes of a job must not end them before they have
// done their work. They end with the program.
#pragma once
#include <signal.h>

namespace tprof {

// The signals get handlers, because SIG_IGN would be inherited by the commands of users (TPROF_ON_TRACE_READY). Whoever
// starts such a process blocks all signals for it, so that none ends it before this.
inline void outlive_signals() {
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  for (int s : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ}) sigaction(s, &nothing, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace tprof
