// How much steps differ: the slowest compared with the median, and the category that grew most in it.
#pragma once
#include "analysis/time/overview.h"

namespace tprof {

struct Variability {
  bool known = false;  // needs three steps
  i64 median_ns = 0, slowest_ns = 0, mean_ns = 0;
  u32 slowest = 0;  // index into Overview::steps
  Category grew = Category::other;
  i64 grew_ns = 0;  // the slowest step's time in that category above the median
};
Variability variability(const Overview& overview);
// The same for some of the steps: indices into Overview::steps.
Variability variability(const Overview& overview, const std::vector<u32>& which);

i64 median_of(std::vector<i64> values);  // the lower of the two middle ones; 0 without values

}  // namespace tprof
