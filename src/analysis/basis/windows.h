// The spans of time over which analyses sum up: the steps that count, and all of them together.
#pragma once
#include "analysis/basis/steps.h"

namespace tprof {

struct Windows {
  Interval all{0, 0};              // from the first step's begin to the last one's end
  IntervalSet time;                // of it what analyses look at: all but evaluations, and steps that hold one
  std::vector<Interval> steps;     // step_spans() that count; never empty
  std::vector<std::string> names;  // "5" of ProfilerStep#5
  bool has_steps = false;          // false: the Model has none, and all of it counts as one

  bool holds(i64 ns) const { return time.length_in(ns, ns + 1) > 0; }
  // The step in which a moment lies, -1 none.
  int step_at(i64 ns) const;
  double per_step(double sum) const { return sum / double(steps.size()); }
  double steps_ns() const;  // of all steps
};
Windows windows_of(const Model& model);

// The thread of the steps; without them the one with most operators that are not of a backward pass, else that of the
// first event; kNone without events.
u32 main_thread_of(const Model& model);

// Of ranges, calls and GPU work: what viewers count from.
i64 first_moment(const Model& model);

}  // namespace tprof
