// Model -> a Kineto trace, as torch.profiler (libkineto of torch 2.14) lays it out: header, metadata events,
// events in order of time, the profiler's own span, and behind traceEvents our ledger. Events are streamed,
// one per line.
#pragma once
#include <string>

#include "model/trace.h"

namespace tprof::kineto {

// Writes `path` (whole or not at all) and returns the bytes before compression. Throws Error.
u64 write_trace(const Model& model, const std::string& path, bool gzip);

}  // namespace tprof::kineto
