// For processes that map a recording: keeps SIGBUS from ending them if the file is truncated.
#pragma once
#include <signal.h>

#include "record/mapping.h"

namespace tprof {

inline void survive_cuts() {
  struct sigaction ours = {};
  ours.sa_sigaction = [](int, siginfo_t* info, void*) {
    if (info->si_code <= 0 || !replace_mapping(info->si_addr)) signal(SIGBUS, SIG_DFL);  // the fault is raised again
  };
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace tprof
