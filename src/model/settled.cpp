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
  auto updates = [](const StepInfo& s) { return is_found_by_updates(s.by) && s.updates; };
  if (std::any_of(steps.begin(), steps.end(), updates)) {
    u64 last = steps.back().begin_ticks;
    std::erase_if(steps, [&](const StepInfo& s) {
      return is_found_by_updates(s.by) && !s.updates && s.begin_ticks != last && !(s.flags & kStepLeft);
    });
  }
  return steps;
}

// Where parts of a step were counted as steps at first, a stretch that lay between two of them lies inside of it.
std::vector<StretchInfo> settled_stretches(const Meta& meta, bool before_training) {
  std::vector<StepInfo> steps = settled_steps(meta, before_training);
  auto goes_on_after = [&](const StretchInfo& s) {
    auto next = std::upper_bound(steps.begin(), steps.end(), s.begin_ticks,
                                 [](u64 ticks, const StepInfo& step) { return ticks < step.begin_ticks; });
    return s.end_ticks && next != steps.begin() && next[-1].end_ticks > s.end_ticks;
  };
  std::vector<StretchInfo> stretches;  // meta has them in order
  for (const StretchInfo& s : meta.stretches) {
    bool doubted = (s.flags & kStretchBefore) && (!meta.training_ticks || before_training);
    if (doubted || (s.flags & kStretchWithdrawn)) continue;
    stretches.push_back(s);
    if (goes_on_after(s)) stretches.back().flags |= kStretchInside;
  }
  return stretches;
}

}  // namespace tprof
