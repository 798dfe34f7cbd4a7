// When a DataLoader starts its worker processes, at the first time or again for a new epoch.
#pragma once
#include "analysis/advice/facts.h"

namespace tprof::rules {

// From the end of the previous draw of a batch to the end of the first draw that the new workers serve.
struct LoaderStart {
  i64 begin_ns, end_ns;
  u32 draw;      // the range of that first draw: index into Model::events
  i64 usual_ns;  // what a draw usually takes
  bool first;    // the trace's first draw: when the previous one ended is not known
};
std::vector<LoaderStart> loader_starts(const Facts& facts);

// By step: whether workers start in it.
std::vector<bool> steps_with_loader_start(const Facts& facts);

}  // namespace tprof::rules
