// What recording itself cost, as far as a trace tells: an estimate, and from below.
//
// CUPTI states its own work (overhead events). tprof times its slow paths, for the process as a whole. What each
// recorded event cost beside that nobody measures while a program runs (tests/bench does), so their number stands for
// it.
#pragma once
#include "analysis/basis/windows.h"

namespace tprof {

struct OwnCost {
  bool cuda = false;    // there are calls of CUDA, so CUPTI may have worked
  i64 cupti_ns = -1;    // in the steps, what overlaps counted once; -1: the trace does not say
  i64 process_ns = -1;  // tprof's slow paths, from the process's start to the end of the span; -1: likewise
  u64 events = 0;       // recorded in the steps: ranges, calls, GPU work, allocations and marks
};
OwnCost own_cost(const Model& model, const Windows& windows);

}  // namespace tprof
