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
  Still out{knows && still >= limit_ns_ ? still : 0, false};
  if (!out.ns && signs.collective_ns >= i64(limit_ns_)) out = {u64(signs.collective_ns), true};
  if (!out.ns) told_ = false;
  bool soon =
      (told_ns_ && now_ns - told_ns_ < kLeastBetween_ns) || (dismissed_ns_ && now_ns - dismissed_ns_ < limit_ns_);
  if (!out.ns || told_ || soon) return {};
  told_ = true;
  told_ns_ = now_ns;
  return out;
}

void Stillness::dismiss(u64 now_ns) {
  told_ = false;
  told_ns_ = 0;
  dismissed_ns_ = now_ns;
}

}  // namespace tprof::hang
