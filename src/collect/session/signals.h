// The one signal that tprof may take (TPROF_SIGNAL): "write what has been recorded so far".
#pragma once

namespace tprof {

// Takes the signal if its disposition is the default; 0 takes none. The handler only wakes the helper thread. It stays until
// the process ends: what is sent too late must not kill the program.
void signals_install(int signal);
// In a forked child: the signal is the child's again, if it is still ours.
void signals_forget();

}  // namespace tprof
