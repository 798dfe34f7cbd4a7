// The spans of time that analyses sum over: the steps that count, and all of them together.
#pragma once
#include "analysis/basis/steps.h"

namespace tprof {

struct Windows {
  Interval all{0, 0};              // from the first step's start to the last one's end
  IntervalSet time;                // the part that analyses use: without evaluations and steps that hold one
  std::vector<Interval> steps;     // step_spans() that count; never empty
  std::vector<std::string> names;  // "5" of ProfilerStep#5
  bool has_steps = false;          // false: the Model has none, and its whole time counts as one

  bool holds(i64 ns) const { return time.length_in(ns, ns + 1) > 0; }
  // The step around a point in time, -1: none.
  int step_at(i64 ns) const;
  double per_step(double sum) const { return sum / double(steps.size()); }
  double steps_ns() const;  // of all steps
};
Windows windows_of(const Model& model);

// The thread of the steps; without steps the thread with the most operators outside backward passes, else that of the
// first event; kNone without events.
u32 main_thread_of(const Model& model);

// The start of the first range, call or GPU activity: the origin of viewers' times.
i64 first_moment(const Model& model);

}  // namespace tprof
