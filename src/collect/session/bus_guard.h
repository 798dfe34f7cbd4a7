// SIGBUS while a recording is written: somebody may shorten the file under its mapping, and the program must not die
// of it. A handler of ours takes the faults in our mappings (record/mapping.h) and passes every other SIGBUS on to the
// program's action, which the program sees, sets and gets as if ours were not there (shim/signals.cpp).
//
// Ours stays away where the program ignores SIGBUS: what it starts inherits that, but no handler. The kernel's word on the
// action is the truth at any time: one that was set by other ways than those in the shim is the program's.
#pragma once
#include <signal.h>

namespace tprof {

// Before the first mapping is touched. From then on until the process ends.
void bus_guard_install();
// In a forked child, which has inherited the handler.
void bus_guard_forget();
// The calling thread is one of ours, which blocks all signals: it must not block this one.
void bus_guard_own_thread();

// sigaction(SIGBUS, ...) as the program means it. `real` is the one behind us.
using SetAction = int (*)(int, const struct sigaction*, struct sigaction*);
int bus_guard_action(SetAction real, const struct sigaction* set, struct sigaction* was);

}  // namespace tprof
