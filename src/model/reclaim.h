// Returns the space of converted and discarded windows to the file system: their chunks are punched out of the
// recording, which may still be written to.
#pragma once
#include <set>

#include "model/trace.h"

namespace tprof {

// Punches the chunks that no window outside `written` needs. Recordings without a schedule keep everything, and in
// flight mode the program learns what it may give back. Returns the number of chunks punched; 0 also where the file
// system cannot punch.
u32 punch_written(const std::string& recording_path, const std::set<u32>& written);

// Punches the samples of epochs below `epoch` out of the companion, if there is one.
void punch_samples(const std::string& recording_path, u32 epoch);

}  // namespace tprof
