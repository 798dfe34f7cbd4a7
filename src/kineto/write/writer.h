// Model -> a Kineto trace in the layout of torch.profiler (libkineto of torch 2.14): header, metadata events, events in
// order of time, the span of the profiler itself, and after traceEvents the ledger of tprof. Events are streamed, one
// per line.
#pragma once
#include <string>

#include "model/trace.h"

namespace tprof::kineto {

// Writes `path` (completely or not at all) and returns the bytes before compression. Throws Error.
u64 write_trace(const Model& model, const std::string& path, bool gzip);

}  // namespace tprof::kineto
