// The finisher: one process per recording that turns finished windows into traces while the program trains,
// and the rest when it has ended, in whatever way. Also run by `tprof run` for recordings whose finisher was
// killed (`tprof finish --after`).
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

// A scheduler's TERM to everybody must not keep the last trace from being written. Handlers rather than SIG_IGN, which
// TPROF_ON_TRACE_READY's command would inherit.
void outlive_signals();

// Returns an exit code. Holds flock(LOCK_EX) on the recording while it works; returns at once if another
// does.
int finish_recording(const std::string& path);

// FileHeader::closed; kClosedFinished where the file is gone, 0 where it cannot be read.
u32 how_closed(const std::string& recording);

// Whether some process holds the finisher's lock.
bool has_finisher(const std::string& recording);

// Says so on stderr and waits until none does.
void wait_for_finisher(const std::string& recording);

}  // namespace tprof
