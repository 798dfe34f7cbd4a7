// The plugin's arithmetic of ranges, in microseconds as doubles: its figures depend on exactly these operations.
#pragma once
#include <utility>
#include <vector>

namespace tprof {

struct PluginRange {
  double begin, end;
};
using PluginRanges = std::vector<PluginRange>;  // sorted, disjoint; empty ones may be among them

inline double length_of(const PluginRanges& ranges) {
  double sum = 0;
  for (const PluginRange& r : ranges) sum += r.end - r.begin;
  return sum;
}

// Ranges that overlap or touch become one.
PluginRanges merged(PluginRanges any);
PluginRanges common(const PluginRanges& a, const PluginRanges& b);
// The parts of `a` that are not in `b`; empty ranges of `a` are kept.
PluginRanges without(const PluginRanges& a, const PluginRanges& b);

}  // namespace tprof
