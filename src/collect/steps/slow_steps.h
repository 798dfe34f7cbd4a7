// Which steps are slow: those that take more than a multiple of the median of the steps before. A pure rule.
#pragma once
#include "base/types.h"

namespace tprof {

class SlowSteps {
 public:
  static constexpr u32 kWarmUp = 3;   // steps at the start, which allocate and compile, count for nothing
  static constexpr u32 kLeast = 8;    // steps that must be known before one is called slow
  static constexpr u32 kRecent = 32;  // the median is of so many steps

  void set(double factor) { factor_ = factor; }
  bool is_on() const { return factor_ != 0; }
  // A step took `ticks`. Returns how many times the median that is if it is slow, else 0.
  double add(u64 ticks);
  // Counting starts anew.
  void forget() { seen_ = 0; }

 private:
  u64 median() const;

  double factor_ = 0;  // 0: off
  u64 seen_ = 0;       // steps
  u64 recent_[kRecent] = {};
};

}  // namespace tprof
