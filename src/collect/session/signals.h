// The one signal that tprof may take (TPROF_SIGNAL): "write what has been recorded so far".
#pragma once

namespace tprof {

// Installs a handler if the signal's disposition is the default; 0: no signal. The handler only wakes the helper
// thread. It stays until the process ends: a signal that is sent too late must not kill the program.
void signals_install(int signal);
// In a forked child: restores the default disposition, if the handler is still ours.
void signals_forget();

}  // namespace tprof
