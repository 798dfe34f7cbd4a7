#include "analysis/diff/alike.h"

#include <algorithm>
#include <cmath>

#include "analysis/diff/diff.h"

namespace tprof {
namespace {

constexpr size_t kLeastRows = 8;
constexpr double kLeastTime = 0.8, kLeastRatio = 0.03, kWidest = 0.5;
constexpr double kSameCalls = 0.02, kWorthShare = 0.001;  // of the calls; of all rows' time

struct Weighted {
  double ratio, ns;
};

// Sorted by ratio: where this share of the time lies below.
double ratio_at(const std::vector<Weighted>& rows, double share, double all_ns) {
  double below = 0;
  for (const Weighted& row : rows)
    if ((below += row.ns) >= share * all_ns) return row.ratio;
  return rows.back().ratio;
}

}  // namespace

Alike alike(const std::vector<DiffRow>& rows, DiffBy by) {
  Alike out;
  out.by = by;
  double a_ns = 0, b_ns = 0, a_held = 0, b_held = 0, held = 0;
  for (const DiffRow& row : rows)
    if (row.by == by) a_ns += row.a_ns, b_ns += row.b_ns;
  std::vector<Weighted> same;
  for (const DiffRow& row : rows) {
    if (row.by != by || row.a_ns <= kWorthShare * a_ns || row.b_ns <= 0) continue;
    if (std::fabs(row.a_calls - row.b_calls) > kSameCalls * row.a_calls) continue;
    same.push_back({row.ratio(), std::sqrt(row.a_ns * row.b_ns)});
    a_held += row.a_ns, b_held += row.b_ns, held += same.back().ns;
  }
  if (same.size() < kLeastRows || a_held < kLeastTime * a_ns || b_held < kLeastTime * b_ns) return out;
  std::sort(same.begin(), same.end(), [](const Weighted& x, const Weighted& y) { return x.ratio < y.ratio; });
  out.ratio = ratio_at(same, 0.5, held);
  out.low = ratio_at(same, 0.25, held);
  out.high = ratio_at(same, 0.75, held);
  out.found = std::fabs(out.ratio) >= kLeastRatio && out.high - out.low <= kWidest * std::fabs(out.ratio);
  return out;
}

}  // namespace tprof
