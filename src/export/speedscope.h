// The file format of speedscope (https://www.speedscope.app/file-format-schema.json), from a Model.
//
// Each track of the timeline (analysis/tables/tracks.h) is an evented profile. Ranges of a profile must nest: a range
// that crosses those around it goes to a further profile of its track. The samples of each thread are a sampled profile
// in which every sample counts for the sampling period. Times are nanoseconds since the first moment of the trace.
// Python frames have their function as name, beside file and line.
#pragma once
#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof {

struct SpeedscopeCounts {
  u64 profiles = 0;
  u64 ranges = 0, samples = 0;
  u64 crossing = 0;  // ranges left out: their track has kMostProfiles, and they fit into none
  u64 instants = 0;  // NVTX marks left out: the format has no events without duration
};

constexpr size_t kMostProfiles = 64;  // of a track

// `name`: of the whole file. Throws Error(Fault::unreadable) if there is neither a range nor a sample.
SpeedscopeCounts write_speedscope(const Model& model, const std::string& name, kineto::OutputFile& out);

}  // namespace tprof
