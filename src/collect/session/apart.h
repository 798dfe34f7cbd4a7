// A job that may never end, on a thread of its own, so that the process can: at the end of the process a lock may be
// held by a thread that cannot go on, and the file system may not answer.
#pragma once
#include "base/types.h"

namespace tprof {

// For the way out of the process only. False: the job is not done by then (or there can be no thread) and is left
// behind; if it ever can go on, it does so beside the caller. Neither allocates nor takes a lock of libc's, since the
// caller may be a signal handler. The thread has no thread-local storage but the caller's, which waits.
bool run_apart(void (*job)(), u64 limit_ns);

}  // namespace tprof
