// How certain a difference of two means is: Student's t over a few values per side, such as one per run.
//
// Noise is proportional to what it disturbs, so positive values are compared by their logarithms and the result is
// turned back into a difference. Both sides are assumed to have the same variance (it is pooled), which does little
// harm if they have the same number of values. Each value may have an uncertainty of its own. If the values happen to
// vary less than that, the mean of the two variances is used. Simulated with three values per side, runs of 25 steps
// each on machines that drift, stall and have slow phases (tests/unit/diff_test.cpp), intervals of 95 % that should
// hold 0 did not in 1 to 3 % of the cases; without that mean in 2 to 6 %. Comparing pairs of neighbouring runs, or
// fitting a line through all runs in order, needs wider intervals for the same certainty and finds less.
#pragma once
#include <vector>

#include "base/types.h"

namespace tprof {

double student_quantile(double probability, double degrees);
double student_two_sided(double t, double degrees);  // how often |t| is reached where there is no difference

double mean_of(const std::vector<double>& values);

struct Sample {
  std::vector<double> values;
  double own_variance = 0;  // of each value, as far as known
};

struct SureInterval {
  bool known = false;        // needs two values on each side
  double low = 0, high = 0;  // of the difference
  double chance = 1;         // how often a difference as large occurs if there is none
  // The smallest difference that four of five comparisons like this one would find.
  double smallest = 0;

  bool excludes_zero() const { return known && (low > 0 || high < 0); }
};

// The interval of mean_b - mean_a; these may be weighted means of the values.
SureInterval difference_of(const Sample& a, const Sample& b, double mean_a, double mean_b, double sureness = 0.95);

}  // namespace tprof
