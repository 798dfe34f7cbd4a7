#include "collect/steps/slow_steps.h"

#include <algorithm>

namespace tprof {

u64 SlowSteps::median() const {
  u64 sorted[kRecent];
  u64 count = std::min<u64>(seen_ - kWarmUp, kRecent);
  std::copy(recent_, recent_ + count, sorted);
  std::nth_element(sorted, sorted + count / 2, sorted + count);
  return sorted[count / 2];
}

double SlowSteps::add(u64 ticks) {
  double times = 0;
  if (seen_ >= kWarmUp + kLeast) {
    u64 usual = std::max<u64>(median(), 1);
    if (double(ticks) > factor_ * double(usual)) times = double(ticks) / double(usual);
  }
  if (seen_ >= kWarmUp) recent_[(seen_ - kWarmUp) % kRecent] = ticks;
  seen_++;
  return times;
}

}  // namespace tprof
