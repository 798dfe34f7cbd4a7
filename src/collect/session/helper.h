// The helper thread, alive from the first warm-up to the end of the last window. It prepares chunks ahead, takes clock
// triples, seals windows that have ended, serves flush requests and starts the finisher. It has a descriptor table of
// its own, so that it never takes a descriptor number that the program would have got.
//
// It is stopped around fork() (Python warns about forking with threads) and started again with the next step or chunk.
#pragma once
#include "base/types.h"

namespace tprof {

// Starts it if it is not running, and with it the finisher, which exists on return (after about 1 ms; at most 1 s on a
// starved machine). False if no thread can be started. Does nothing while another thread starts or stops it: who stops
// it waits for its end, it may wait for the session's lock, and our caller may hold that.
bool helper_start();
// Stops it and waits until the kernel has forgotten it (at most 100 ms more). False: it has not ended within the limit,
// since the file system does not answer, say; it goes on when it can.
bool helper_stop(u64 limit_ns);
// helper_stop() waited in vain, and it has not gone on since.
bool helper_is_stuck();
// In a forked child, which has no such thread.
void helper_forget();
// Cuts its sleep short. Async-signal-safe.
void helper_wake();
// Asks for a flush. Async-signal-safe. False if there is no helper thread to do it.
bool helper_request_flush();

}  // namespace tprof
