// Runs a piece of code that reads memory whose layout is only presumed, and survives it when it faults.
//
// For the few microseconds of a layout probe only: SIGSEGV and SIGBUS are taken over and given back. A fault
// of another thread, or one outside the probe, goes to whoever had the signal before.
#pragma once

namespace tprof {

// False: it faulted. What it had done until then stays done. Not reentrant; one thread at a time.
bool run_guarded(void (*code)(void*), void* argument);

}  // namespace tprof
