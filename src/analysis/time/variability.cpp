#include "analysis/time/variability.h"

#include <algorithm>
#include <numeric>

namespace tprof {

i64 median_of(std::vector<i64> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + i64(values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Variability variability(const Overview& overview) {
  std::vector<u32> all(overview.steps.size());
  std::iota(all.begin(), all.end(), 0u);
  return variability(overview, all);
}

Variability variability(const Overview& overview, const std::vector<u32>& which) {
  Variability out;
  if (which.size() < 3) return out;
  out.known = true;
  double sum_us = 0;
  auto values_of = [&](auto value) {
    std::vector<i64> values;
    for (u32 s : which) values.push_back(whole_ns(value(overview.steps[s])));
    return values;
  };
  std::vector<i64> lengths = values_of([](const StepTimes& step) { return step.us; });
  for (u32 s : which) sum_us += overview.steps[s].us;
  out.median_ns = median_of(lengths);
  out.mean_ns = whole_ns(sum_us / double(which.size()));
  auto slowest = std::max_element(lengths.begin(), lengths.end());
  out.slowest = which[size_t(slowest - lengths.begin())];
  out.slowest_ns = *slowest;
  for (u32 c = 0; c < kCategories; c++) {
    i64 usual = median_of(values_of([c](const StepTimes& step) { return step.by[c]; }));
    i64 grew = whole_ns(overview.steps[out.slowest].by[c]) - usual;
    if (grew <= out.grew_ns) continue;
    out.grew_ns = grew;
    out.grew = static_cast<Category>(c);
  }
  return out;
}

}  // namespace tprof
