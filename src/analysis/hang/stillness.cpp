#include "analysis/hang/stillness.h"

#include <algorithm>

namespace tprof::hang {

u64 Stillness::stepless_ns(u64 step_ticks, u64 now_ns) {
  if (step_ticks != step_ticks_) moved_ns_ = now_ns;
  step_ticks_ = step_ticks;
  return now_ns - moved_ns_;
}

Still Stillness::add(const Signs& signs, u64 now_ns) {
  u64 still = stepless_ns(signs.step_ticks, now_ns);
  if (signs.event_age_ns >= 0) still = std::min(still, u64(signs.event_age_ns));
  bool knows = signs.step_ticks || signs.event_age_ns >= 0 || signs.is_rank;
  Still both[] = {{knows && still >= limit_ns_ ? still : 0, false},
                  {signs.collective_ns >= i64(limit_ns_) ? u64(signs.collective_ns) : 0, true}};
  auto is_within = [&](u64 since, u64 time) { return since && now_ns - since < time; };
  bool soon = is_within(told_ns_, kLeastBetween_ns) || is_within(dismissed_ns_, limit_ns_);
  for (const Still& one : both) {
    bool& told = told_[one.collective];
    told &= one.ns != 0;
    if (!one.ns || told || soon) continue;
    told_[0] = both[0].ns != 0;  // both are told by one
    told_[1] = both[1].ns != 0;
    told_ns_ = now_ns;
    return one;
  }
  return {};
}

void Stillness::dismiss(u64 now_ns) {
  told_[0] = told_[1] = false;
  told_ns_ = 0;
  dismissed_ns_ = now_ns;
}

}  // namespace tprof::hang
