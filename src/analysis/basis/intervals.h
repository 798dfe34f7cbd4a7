// Sets of moments: sorted, disjoint, half-open intervals of nanoseconds. What analyses of time are made of.
//
// All operations are one sweep, O(n + m). Sets are built from any intervals, in any order, overlapping or empty.
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
  explicit IntervalSet(std::vector<Interval> any);  // what is empty or negative is left out
  IntervalSet(i64 begin, i64 end) : IntervalSet(std::vector<Interval>{{begin, end}}) {}

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  i64 length() const;
  // Of the part in [begin, end).
  i64 length_in(i64 begin, i64 end) const;

  IntervalSet operator|(const IntervalSet& other) const;
  IntervalSet operator&(const IntervalSet& other) const;
  IntervalSet operator-(const IntervalSet& other) const;
  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace tprof
