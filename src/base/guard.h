// Runs code that reads memory whose layout is only presumed, and survives a fault in it.
//
// For the few microseconds of a layout probe only: SIGSEGV and SIGBUS are taken over and given back. A fault
// of another thread, or one outside the probe, goes to the handler that was installed before.
#pragma once

namespace tprof {

// Returns false if the code faulted; nothing that it did before is undone. Not reentrant; one thread at a time.
bool run_guarded(void (*code)(void*), void* argument);

}  // namespace tprof
