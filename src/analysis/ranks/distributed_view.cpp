#include "analysis/ranks/distributed_view.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/ranks/distributed.h"

namespace tprof {
namespace {

// One step, or the sum of several. What the traces do not tell of collectives at all stays unknown.
struct StepSum {
  Overlap overlap;
  i64 total_ns = 0, transfer_ns = 0, synchronizing_ns = 0, undivided_ns = 0;

  StepSum& operator+=(const StepSum& more) {
    overlap.computation_ns += more.overlap.computation_ns;
    overlap.overlap_ns += more.overlap.overlap_ns;
    overlap.communication_ns += more.overlap.communication_ns;
    overlap.other_ns += more.overlap.other_ns;
    total_ns += more.total_ns;
    transfer_ns += more.transfer_ns;
    synchronizing_ns += more.synchronizing_ns;
    undivided_ns += more.undivided_ns;
    return *this;
  }

  RankInStep mean_of(u32 rank, size_t steps) const {
    auto mean = [&](i64 ns) { return i64(std::llround(double(ns) / double(steps))); };
    RankInStep out{rank, {}, true, mean(total_ns)};
    out.computation_ns = mean(overlap.computation_ns);
    out.overlap_ns = mean(overlap.overlap_ns);
    out.communication_ns = mean(overlap.communication_ns);
    out.other_ns = mean(overlap.other_ns);
    out.undivided_ns = mean(undivided_ns);
    if (undivided_ns && !transfer_ns && !synchronizing_ns) return out;
    out.transfer_ns = mean(transfer_ns);
    out.synchronizing_ns = mean(synchronizing_ns);
    return out;
  }
};

StepSum sum_of(const RankStep& step, const CollectiveTimes& times) {
  auto length = [&](const IntervalSet& set) { return set.length_in(step.time.begin, step.time.end); };
  StepSum out{step.overlap, step.time.length()};
  out.synchronizing_ns = length(times.waiting);
  out.undivided_ns = length(times.undivided);
  out.transfer_ns = length(times.calls) - out.synchronizing_ns - out.undivided_ns;
  return out;
}

void add_steps(DistributedView& out, const std::vector<Rank>& ranks, const Distributed& found) {
  std::vector<std::string> names;  // in order of appearance
  std::map<std::string, std::vector<RankInStep>> by_name;
  for (u32 r = 0; r < ranks.size(); r++) {
    StepSum all;
    for (const RankStep& step : ranks[r].steps) {
      all += sum_of(step, found.times[r]);
      auto [at, added] = by_name.try_emplace(step.name);
      if (added) names.push_back(step.name);
      at->second.push_back(rank_in_step(r, step, found.times[r]));
    }
    if (!ranks[r].steps.empty()) out.steps.push_back(all.mean_of(r, ranks[r].steps.size()));
  }
  for (const std::string& name : names) out.steps.insert(out.steps.end(), by_name[name].begin(), by_name[name].end());
}

void add_gpus(DistributedView& out, const std::vector<Rank>& ranks) {
  for (u32 r = 0; r < ranks.size(); r++) {
    const Rank& rank = ranks[r];
    NodeGpu gpu{r, rank.host, rank.pid ? std::to_string(rank.pid) : "", {}};
    if (rank.gpus.empty()) out.gpus.push_back(gpu);
    for (const GpuFigures& figures : rank.gpus) {
      gpu.gpu = figures;
      out.gpus.push_back(gpu);
    }
  }
  std::stable_sort(out.gpus.begin(), out.gpus.end(),
                   [](const NodeGpu& a, const NodeGpu& b) { return a.node < b.node; });
}

}  // namespace

RankInStep rank_in_step(u32 rank, const RankStep& step, const CollectiveTimes& times) {
  RankInStep out = sum_of(step, times).mean_of(rank, 1);
  out.step = step.name;
  out.mean = false;
  return out;
}

DistributedView distributed_view(const std::vector<Rank>& ranks, const Distributed& found) {
  DistributedView out;
  for (const Rank& rank : ranks) out.ranks.push_back({rank.worker, rank.number});
  add_steps(out, ranks, found);
  out.operations = found.operations;
  add_gpus(out, ranks);
  return out;
}

}  // namespace tprof
