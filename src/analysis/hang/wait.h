// For what a thread waits, as far as verdicts differ in it.
#pragma once
#include "base/types.h"

namespace tprof::hang {

enum class Wait {
  unknown,
  sleep,   // time
  lock,    // a lock: other threads can release it only
  gil,     // the global interpreter lock
  peers,   // other ranks
  loader,  // a data-loader worker
  work,    // something to do: it is idle
  io,      // a file, pipe or socket, or any of several
  gpu,
  other,  // something else that is known: an event, a thread, a child process
};

}  // namespace tprof::hang
