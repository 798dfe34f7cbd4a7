// What the plugin's Distributed view shows of a job: each step of each rank, its collectives, and the GPUs of the
// nodes; by tprof's rules (distributed_view.cpp, from distributed()) or by the plugin's own
// (plugin_compat/distributed).
#pragma once
#include <memory>
#include <optional>

#include "analysis/ranks/rank.h"

namespace tprof {

using KnownNs = std::optional<i64>;  // empty: not known from the traces

// One rank in one step, or in the mean of its steps. The first four parts sum to the step (by tprof's rules once for
// each GPU of the process, see Overlap), the last three to the time in collectives within the step.
struct RankInStep {
  u32 rank = 0;                     // index into DistributedView::ranks
  std::optional<std::string> step;  // "5" of ProfilerStep#5
  bool mean = false;                // of all steps
  KnownNs total_ns;                 // of the step
  KnownNs computation_ns, overlap_ns, communication_ns, other_ns;
  KnownNs transfer_ns, synchronizing_ns;  // data moves; the rank waits for others
  KnownNs undivided_ns;                   // not known which of the two
};

// One rank's calls of one operator in one group.
struct RankOperation {
  u32 rank = 0;
  std::string op, group;
  u64 calls = 0;
  std::optional<i64> bytes;  // of the calls whose size is known
  i64 total_ns = 0;          // tprof's rules: the sum of the calls; the plugin's: the time in which one runs
  KnownNs transfer_ns;       // the part of it without waiting
};

struct NodeGpu {
  u32 rank = 0;
  std::string node, process;      // host; pid, or what the plugin reads off the worker's name
  std::optional<GpuFigures> gpu;  // nothing: the rank used none
};

struct DistributedView {
  struct RankName {
    std::string worker;
    i32 number = -1;  // as torch.distributed counts; -1 not known, and by the plugin's rules
  };
  RuleSet rules = RuleSet::tprof;
  std::vector<RankName> ranks;
  std::vector<RankInStep> steps;          // the means first, then step by step; of each the ranks in order
  std::vector<RankOperation> operations;  // rank by rank
  std::vector<NodeGpu> gpus;              // node by node
  std::vector<std::string> notes;
};

struct CollectiveTimes;
// One step of a rank, by tprof's rules.
RankInStep rank_in_step(u32 rank, const RankStep& step, const CollectiveTimes& times);

struct Distributed;
DistributedView distributed_view(const std::vector<Rank>& ranks, const Distributed& found);

}  // namespace tprof
