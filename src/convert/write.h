// Writes the planned traces, several at a time.
#pragma once
#include <vector>

#include "convert/plan.h"

namespace tprof {

struct WrittenTraces {
  std::vector<WrittenTrace> traces;  // in the order of the jobs; without those that turned out to be empty
  bool damaged = false;              // the recording, where it was read for them
  bool given_back = false;           // another process wrote and gave back a window meanwhile: it is not written here
};

// Throws Error when a trace cannot be written; those that were begun before are finished first.
WrittenTraces write_traces(const OpenRecording& recording, const std::vector<TraceJob>& jobs,
                           const ConvertOptions& options, ConvertState& state);

}  // namespace tprof
