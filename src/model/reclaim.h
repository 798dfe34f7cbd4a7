// Returns the space of converted and discarded windows to the file system: their chunks are punched out of the
// recording, which may still be written to.
#pragma once
#include <set>

#include "model/trace.h"

namespace tprof {

// Punches the chunks that no window outside `written` needs. Recordings without a schedule keep everything.
// Returns the number of chunks punched; 0 also where the file system cannot punch.
u32 punch_written(const std::string& recording_path, const std::set<u32>& written);

}  // namespace tprof
