// What the host does while a GPU is idle: shared by the rules about an idle GPU and about the host.
#pragma once
#include "analysis/advice/rule.h"

namespace tprof::rules {

// How a lane's host waits divide between code that runs on the host and launches. Time in the DataLoader and in the
// allocator is left out: these have rules of their own.
struct HostTime {
  i64 running, launching;
};
// Between the first and the last GPU activity: what lies outside of them is not a cost of each step.
HostTime between_activities(const IdleLane& lane);
// In the gaps that follow a call which waited for the GPU.
HostTime after_sync(const IdleLane& lane);

// `ns` of gaps, but no more than the GPU is idle inside steps: gaps may also lie between two steps.
i64 in_steps(const Facts& facts, i64 ns);

// How long the GPU has nothing to do because code on the host has not reached the next launch.
i64 waits_for_code(const Facts& facts);

// The GPU activities that ended the longest gaps.
template <class Keep>
std::vector<Evidence> after_gaps(const IdleLane& lane, Keep keep) {
  Heaviest heaviest(Evidence::Kind::gpu_work);
  for (const Gap& gap : lane.gaps)
    if (gap.next != kNone && keep(gap)) heaviest.add(gap.length(), gap.next);
  return heaviest.take();
}

}  // namespace tprof::rules
