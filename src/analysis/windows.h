// The stretches of time over which analyses sum up: the steps, and all of them together.
#pragma once
#include "analysis/intervals.h"
#include "model/trace.h"

namespace tprof {

struct Windows {
  Interval all{0, 0};           // from the first step's begin to the last one's end; without steps, of everything
  std::vector<Interval> steps;  // in order, not overlapping; one that is `all` if the Model has none
  std::vector<i64> numbers;     // of the steps
  bool has_steps = false;

  // The step in which a moment lies, -1 none.
  int step_at(i64 ns) const;
  double per_step(i64 sum) const { return double(sum) / double(steps.size()); }
};

// Steps as the host saw them: a GPU that is behind works for step i during step i + 1, which evens out over a window.
// The last step lasts until the GPU is done with what was launched in it.
Windows windows_of(const Model& model);

// The thread of the steps, else that of the first event; kNone without events.
u32 main_thread_of(const Model& model);

}  // namespace tprof
