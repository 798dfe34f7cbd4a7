// Where the time of the recent steps went, by the categories of the overview and in their order of precedence
// (analysis/basis/steps.h), from intervals that are told in any order. All times in ticks.
#pragma once
#include <array>
#include <deque>
#include <vector>

#include "analysis/basis/intervals.h"
#include "analysis/basis/steps.h"

namespace tprof::live {

struct StepParts {
  i64 number = 0;
  u64 begin = 0, end = 0;
  std::array<u64, kCategories> by{};
};

// The mean of some steps in a row.
struct MeanStep {
  u64 steps = 0;
  i64 first = 0, last = 0;  // their numbers
  u64 end = 0;              // of the last one
  double ticks = 0;
  std::array<double, kCategories> by{};
};

class Breakdown {
 public:
  static constexpr size_t kMostSteps = 4096;
  // Intervals of a step that does not end are given up, the oldest first, beyond this number of a category.
  static constexpr size_t kMostIntervals = 1 << 18;

  void add(Category category, u64 begin, u64 end);
  // These steps are over, in order of time, and everything in them was told.
  void finish(std::vector<StepParts> steps);
  // Steps from this number on, which were found before, were none.
  void forget_from(i64 number);

  // Of the steps that ended in the last `recent` ticks before the end of the last one; at least of that.
  MeanStep mean(u64 recent) const;
  // Whether something of this category was seen.
  bool has_seen(Category category) const { return seen_[u32(category)]; }
  // Whether the last step is not counted because intervals of it were given up: it is too long.
  bool overflowed() const { return overflowed_; }

 private:
  std::vector<Interval> intervals_[kCategories - 1];
  std::array<bool, kCategories> seen_{};
  std::deque<StepParts> steps_;
  u64 done_ = 0;      // what ends before this belongs to no step that is still to come
  u64 given_up_ = 0;  // intervals up to here
  bool overflowed_ = false;
};

}  // namespace tprof::live
