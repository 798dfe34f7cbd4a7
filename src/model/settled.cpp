#include "model/settled.h"

#include <algorithm>

namespace tprof {

bool is_before_training(const WindowInfo& window, const Meta& meta) {
  if (!meta.training_ticks || window.begin_ticks >= meta.training_ticks) return false;
  auto holds = [&](bool before) {
    for (const StepInfo& s : settled_steps(meta, before)) {
      bool inside = s.begin_ticks >= window.begin_ticks && (!window.end_ticks || s.begin_ticks < window.end_ticks);
      // A number beyond those of the window belongs to the step that ended it.
      bool of_it = window.first_step < 0 ||
                   (s.number >= window.first_step && (window.end_step < 0 || s.number < window.end_step));
      if (inside && of_it) return true;
    }
    return false;
  };
  return holds(true) && !holds(false);
}

std::vector<StepInfo> settled_steps(const Meta& meta, bool before_training) {
  std::vector<StepInfo> steps;
  for (const StepInfo& s : meta.steps) {
    bool before = s.flags & kStepBefore;
    if ((s.flags & kStepHasWork) && !(s.flags & kStepWithdrawn) && before == before_training) steps.push_back(s);
  }
  std::sort(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.begin_ticks < b.begin_ticks; });
  return steps;
}

std::vector<StretchInfo> settled_stretches(const Meta& meta, bool before_training) {
  std::vector<StretchInfo> stretches;  // meta has them in order
  for (const StretchInfo& s : meta.stretches) {
    bool doubted = (s.flags & kStretchBefore) && (!meta.training_ticks || before_training);
    if (!doubted && !(s.flags & kStretchWithdrawn)) stretches.push_back(s);
  }
  return stretches;
}

}  // namespace tprof
