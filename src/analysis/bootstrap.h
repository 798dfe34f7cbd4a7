// How sure a difference of two means is: percentile bootstrap with a fixed seed, so that the same traces always give
// the same answer.
//
// Steps are drawn with replacement on both sides, kResamples times; the interval holds the middle 95 % of the
// differences, each side's spread widened by sqrt(n / (n - 1)), since few steps make it too narrow. All rows of a diff
// share the draws. The draws see steps as independent of each other.
#pragma once
#include <vector>

#include "base/types.h"

namespace tprof {

// Values of some steps of a side; those that are not listed are 0.
struct StepValue {
  u32 step;
  double value;
};
using StepValues = std::vector<StepValue>;

struct SureInterval {
  bool known = false;  // needs kLeastSteps steps on both sides
  double low = 0, high = 0;

  bool excludes_zero() const { return known && (low > 0 || high < 0); }
};

class Bootstrap {
 public:
  static constexpr u32 kResamples = 1000;
  static constexpr size_t kLeastSteps = 3;

  Bootstrap(size_t steps_a, size_t steps_b);

  // Of mean(b) - mean(a).
  SureInterval difference(const StepValues& a, const StepValues& b) const;

 private:
  class Side {
   public:
    Side(size_t steps, u64 seed);
    size_t steps() const { return steps_; }
    double mean(const StepValues& values) const;
    double resampled_mean(const StepValues& values, u32 draw) const;

   private:
    size_t steps_;
    std::vector<u16> times_drawn_;  // by draw, then step
  };
  Side a_, b_;
};

}  // namespace tprof
