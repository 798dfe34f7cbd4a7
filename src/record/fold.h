// Recordings of processes that have ended, one behind the other in one file, each cut to what it holds. For the tool.
#pragma once
#include "record/reader.h"

namespace tprof {

// Appends `recording` to the folded file open at `fd`, whose last whole recording ends at `end`. Whenever it is
// stopped, `kill -9` included, the file holds what it held before, or the new recording too. Returns where that ends;
// 0, with errno, when it could not be written, EFBIG when the file would grow beyond `limit`.
u64 append_recording(Recording& recording, int fd, u64 end, u64 limit);

// Counts events that there was no room for, in the recording that begins at `begin`.
void count_over_budget(int fd, u64 begin, u64 events);

}  // namespace tprof
