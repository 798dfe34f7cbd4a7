// torch.profiler.schedule as a pure function: what to do during step n.
#pragma once
#include "base/options.h"
#include "record/record.h"

namespace tprof {

struct Plan {
  Phase phase;
  i64 window;  // which window (0, 1, ...) this step warms up or records; -1 in wait and ended
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The plan for step n >= 0. Equal to torch.profiler.schedule, with its last active step (RECORD_AND_SAVE) not
// told apart: a window ends where the next step's plan names another window or none. `ended` once `repeat`
// windows are done. Without a schedule everything is window 0.
Plan plan_of(const Schedule& schedule, i64 step);

// Whether a recording is written in this phase.
inline bool records(Phase phase) { return phase == Phase::warmup || phase == Phase::active; }

}  // namespace tprof
