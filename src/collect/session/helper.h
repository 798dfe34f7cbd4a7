// The one thread of our own, alive from the first warm-up to the end of the last window. It prepares chunks ahead,
// takes clock triples, seals windows that have ended, serves flush requests and starts the finisher. It has a
// descriptor table of its own, so that no number is taken from the program even for a moment.
//
// It is stopped around fork() (Python warns about forking with threads) and comes back with the next step or chunk.
#pragma once

namespace tprof {

// Starts it if it is not running, and with it the finisher, which is there on return (about 1 ms; at most 1 s on a
// starved machine). False if no thread can be had.
bool helper_start();
// Stops it and waits until the kernel has forgotten it (at most 100 ms).
void helper_stop();
// In a forked child: there is none.
void helper_forget();
// Cuts its sleep short. Async-signal-safe.
void helper_wake();
// Asks for a flush. Async-signal-safe. False if no helper is there to do it.
bool helper_request_flush();

}  // namespace tprof
