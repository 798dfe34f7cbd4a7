// Folded files: recordings of processes that have ended, one after the other in one file, each without its empty space.
// For the tool.
#pragma once
#include "record/reader.h"

namespace tprof {

// Appends `recording` to the folded file open at `fd`, whose last whole recording ends at `end`. If it is interrupted
// at any moment, even by `kill -9`, the file holds what it held before, with or without the new recording. Returns the
// end of the new recording; 0, with errno, if it could not be written: EFBIG if the file would grow beyond `limit`.
u64 append_recording(Recording& recording, int fd, u64 end, u64 limit);

// Adds events that were dropped for lack of space to the counts of the recording that starts at `begin`.
void count_over_budget(int fd, u64 begin, u64 events);

}  // namespace tprof
