#include "analysis/variability.h"

#include <algorithm>

namespace tprof {

i64 median_of(std::vector<i64> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + i64(values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Variability variability(const Overview& overview) {
  Variability out;
  const std::vector<StepTimes>& steps = overview.steps;
  if (steps.size() < 3) return out;
  out.known = true;
  std::vector<i64> lengths;
  for (const StepTimes& step : steps) lengths.push_back(whole_ns(step.us));
  out.median_ns = median_of(lengths);
  out.mean_ns = whole_ns(overview.average.us);
  out.slowest = u32(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
  out.slowest_ns = lengths[out.slowest];
  for (u32 c = 0; c < kCategories; c++) {
    std::vector<i64> values;
    for (const StepTimes& step : steps) values.push_back(whole_ns(step.by[c]));
    i64 grew = whole_ns(steps[out.slowest].by[c]) - median_of(values);
    if (grew <= out.grew_ns) continue;
    out.grew_ns = grew;
    out.grew = static_cast<Category>(c);
  }
  return out;
}

}  // namespace tprof
