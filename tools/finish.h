// The finisher: one process per recording that turns finished windows into traces while the program trains,
// and the rest when it has ended, in whatever way. Also run by `tprof run` for recordings whose finisher was
// killed.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

// FileHeader::closed of a recording that is kept although its traces are written: nobody needs to finish it
// again.
constexpr u32 kClosedFinished = 2;

// Returns an exit code. Holds flock(LOCK_EX) on the recording while it works; returns at once if another
// does.
int finish_recording(const std::string& path);

// Whether some process holds the finisher's lock.
bool has_finisher(const std::string& recording);

}  // namespace tprof
