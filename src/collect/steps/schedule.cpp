#include "collect/steps/schedule.h"

namespace tprof {

Plan plan_of(const Schedule& s, i64 step) {
  if (!s.given) return {Phase::active, 0};
  if (step < s.skip_first) return {Phase::wait, -1};
  step -= s.skip_first;
  // skip_first_wait drops the wait of the first cycle only; adding it back makes all cycles alike.
  if (s.skip_first_wait) step += s.wait;
  i64 cycle = s.wait + s.warmup + s.active;
  i64 window = step / cycle, at = step % cycle;
  if (s.repeat > 0 && window >= s.repeat) return {Phase::ended, -1};
  if (at < s.wait) return {Phase::wait, -1};
  return {at < s.wait + s.warmup ? Phase::warmup : Phase::active, window};
}

}  // namespace tprof
