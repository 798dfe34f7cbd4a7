#include "analysis/basis/intervals.h"

#include <algorithm>

#include "model/sort.h"

namespace tprof {
namespace {

// Calls out(begin, end) for each interval in which keep(is in a, is in b) holds; they come in order and may touch.
template <class Keep, class Out>
void sweep(const std::vector<Interval>& a, const std::vector<Interval>& b, Keep keep, Out out) {
  size_t i = 0, j = 0;  // edges passed: odd means inside
  i64 at = 0;
  auto edge = [](const std::vector<Interval>& set, size_t k) { return k % 2 ? set[k / 2].end : set[k / 2].begin; };
  while (i < 2 * a.size() || j < 2 * b.size()) {
    bool from_a = j == 2 * b.size() || (i < 2 * a.size() && edge(a, i) <= edge(b, j));
    i64 next = from_a ? edge(a, i) : edge(b, j);
    if (next > at && keep(i % 2 == 1, j % 2 == 1)) out(at, next);
    at = next;
    (from_a ? i : j)++;
  }
}

void append(std::vector<Interval>& to, i64 begin, i64 end) {
  if (!to.empty() && to.back().end >= begin)
    to.back().end = std::max(to.back().end, end);
  else
    to.push_back({begin, end});
}

template <class Keep>
std::vector<Interval> combine(const std::vector<Interval>& a, const std::vector<Interval>& b, Keep keep) {
  std::vector<Interval> out;
  sweep(a, b, keep, [&](i64 begin, i64 end) { append(out, begin, end); });
  return out;
}

}  // namespace

IntervalSet::IntervalSet(std::vector<Interval> any) {
  std::erase_if(any, [](const Interval& x) { return x.end <= x.begin; });
  sort_if_needed(any, [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  for (const Interval& x : any) append(intervals_, x.begin, x.end);
}

i64 IntervalSet::length() const {
  i64 sum = 0;
  for (const Interval& x : intervals_) sum += x.length();
  return sum;
}

i64 IntervalSet::length_in(i64 begin, i64 end) const {
  auto at =
      std::partition_point(intervals_.begin(), intervals_.end(), [&](const Interval& x) { return x.end <= begin; });
  i64 sum = 0;
  for (; at != intervals_.end() && at->begin < end; ++at) sum += std::min(at->end, end) - std::max(at->begin, begin);
  return sum;
}

IntervalSet IntervalSet::operator|(const IntervalSet& other) const {
  IntervalSet out;
  out.intervals_ = combine(intervals_, other.intervals_, [](bool a, bool b) { return a || b; });
  return out;
}

IntervalSet IntervalSet::operator&(const IntervalSet& other) const {
  IntervalSet out;
  out.intervals_ = combine(intervals_, other.intervals_, [](bool a, bool b) { return a && b; });
  return out;
}

IntervalSet IntervalSet::operator-(const IntervalSet& other) const {
  IntervalSet out;
  out.intervals_ = combine(intervals_, other.intervals_, [](bool a, bool b) { return a && !b; });
  return out;
}

}  // namespace tprof
