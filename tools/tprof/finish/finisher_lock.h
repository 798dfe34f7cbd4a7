// The lock that a finisher holds on its recording, for commands that must not read it at the same time.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

// FileHeader::closed; kClosedFinished if the file is gone, 0 if it cannot be read.
u32 how_closed(const std::string& recording);

// Whether a process holds the finisher's lock.
bool has_finisher(const std::string& recording);

// Waits, with a line on stderr, until no process holds the lock.
void wait_for_finisher(const std::string& recording);

}  // namespace tprof
