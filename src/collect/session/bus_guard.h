// SIGBUS while a recording is written: somebody may shorten the file under its mapping, and the program must not die of
// it. A handler of ours takes the faults in our mappings (record/mapping.h) and passes every other SIGBUS on to the
// program's action, which the program can set and query as if our handler were not there (shim/signals.cpp).
//
// The handler is not installed where the program ignores SIGBUS: processes that it starts inherit an ignored signal,
// but not a handler. An action that was set without passing the shim is the program's: what the kernel reports is what
// counts.
#pragma once
#include <signal.h>

namespace tprof {

// Installs the handler, before the first mapping is touched. It stays until the process ends.
void bus_guard_install();
// In a forked child, which has inherited the handler.
void bus_guard_forget();
// For a thread of ours, which blocks all other signals: it must not block SIGBUS.
void bus_guard_own_thread();

// What the program's sigaction(SIGBUS, ...) does. `real` is libc's.
using SetAction = int (*)(int, const struct sigaction*, struct sigaction*);
int bus_guard_action(SetAction real, const struct sigaction* set, struct sigaction* was);

}  // namespace tprof
