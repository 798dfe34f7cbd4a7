// How sure a difference of two means is: Student's t over few values a side, such as one of each run.
//
// Noise grows with what it disturbs: values that are all positive are compared by their logarithms, and what is found
// is turned back into a difference. Both sides are taken to vary alike (one pooled variance), which errs little where
// they have as many values each.
// Each value may say how uncertain it is in itself; the values cannot vary less than that for long, so where they seem
// to, by luck, the variance used is the middle of both. Simulated with three values a side, runs of 25 steps each on
// machines that drift, stall and have slow phases (tests/unit/diff_test.cpp), intervals of 95 % that should hold 0 did
// not in 1 to 3 % of the cases; without the middle in 2 to 6 %. Pairs of neighbours, and a line through all runs in
// their order, need wider intervals for the same, and so find less.
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
  double chance = 1;         // how often a difference as large is seen where there is none
  // What would be found in four of five comparisons like this one: another one's noise is as uncertain as this one's.
  double smallest = 0;

  bool excludes_zero() const { return known && (low > 0 || high < 0); }
};

// Of b - a, which are means over each side's values; they need not be the plain ones.
SureInterval difference_of(const Sample& a, const Sample& b, double mean_a, double mean_b, double sureness = 0.95);

}  // namespace tprof
