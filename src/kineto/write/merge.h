// Several traces -> one timeline for viewers, as text: an event is copied with its row, time and ids changed, and
// nothing else. One event is held at a time, so the size of the traces does not matter.
//
// Every track (a rank) keeps its numbers of processes and threads unless another track has them, too. Ids (of
// correlations, ranges, arrows, Python calls, stack frames, sequence numbers) are moved behind those of the traces
// before. The result is for viewers, and is no trace of a process: it says so (kMerge), and the commands of tprof
// refuse it.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"
#include "json/json.h"

namespace tprof::kineto {

struct MergePart {
  std::string path;
  u32 track = 0;            // parts of one track share rows: windows of one rank
  std::string name, label;  // of the track: "rank 3 (node a)", what is to be known of its clock (may be empty)
  u32 pid = 0;              // of its process, in the trace
  i64 base_ns = 0;          // what the times of the trace are relative to; CLOCK_REALTIME
  i64 begin_ns = 0;         // of its first event, relative to base_ns
  i64 shift_ns = 0;         // what to add to its times
};

struct MergeResult {
  u64 events = 0;    // that were copied
  u64 left_out = 0;  // that are not JSON
};

// Throws Error: a part cannot be read to its end, or the file cannot be written. `about` is written as kMerge.
MergeResult merge_traces(const std::vector<MergePart>& parts, const Json& about, const std::string& path, bool gzip);

}  // namespace tprof::kineto
