// What recording itself cost, as far as the trace shows: a lower bound.
//
// CUPTI reports its own cost (overhead events). tprof times its slow paths, for the whole process. The cost of each
// recorded event is not measured while a program runs (tests/bench does that), so their number is given instead.
#pragma once
#include "analysis/basis/windows.h"

namespace tprof {

struct OwnCost {
  bool cuda = false;    // there are CUDA calls, so CUPTI may have been active
  i64 cupti_ns = -1;    // in the steps, overlaps counted once; -1: not in the trace
  i64 process_ns = -1;  // tprof's slow paths, from the process's start to the end of the span; -1: not in the trace
  u64 events = 0;       // recorded in the steps: ranges, calls, GPU work, allocations and marks
};
OwnCost own_cost(const Model& model, const Windows& windows);

}  // namespace tprof
