// Sets of points in time, as sorted, disjoint, half-open intervals of nanoseconds. Analyses of time are built on them.
//
// Each operation is one sweep, O(n + m). A set can be built from intervals in any order, overlapping or empty.
#pragma once
#include <utility>
#include <vector>

#include "base/types.h"

namespace tprof {

struct Interval {
  i64 begin, end;  // ns; [begin, end)
  i64 length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;
  explicit IntervalSet(std::vector<Interval> any);  // empty and negative intervals are left out
  IntervalSet(i64 begin, i64 end) : IntervalSet(std::vector<Interval>{{begin, end}}) {}

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  i64 length() const;
  // The length of the part in [begin, end).
  i64 length_in(i64 begin, i64 end) const;

  IntervalSet operator|(const IntervalSet& other) const;
  IntervalSet operator&(const IntervalSet& other) const;
  IntervalSet operator-(const IntervalSet& other) const;
  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace tprof
