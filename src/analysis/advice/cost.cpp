#include "analysis/advice/cost.h"

#include <algorithm>

namespace tprof::rules {

Cost::Cost(const Facts& facts) : facts_(facts), gpu_work_(facts.model.gpu.size()), ops_(facts.model.events.size()) {}

void Cost::call(u32 index) {
  const CallEvent& call = facts_.model.calls[index];
  const Wait* wait = facts_.waits.of(index);
  i64 waits = wait ? std::clamp(wait->begin_ns, call.begin_ns, call.end_ns()) : call.end_ns();
  time(call.begin_ns, waits);
  if (wait) time(std::max(wait->end_ns, waits), call.end_ns());
}

bool Cost::counts(const GpuEvent& work) const {
  for (i32 op = work.op; op >= 0; op = facts_.model.events[op].parent)
    if (ops_[op]) return true;
  return gpu_work_[size_t(&work - facts_.model.gpu.data())];
}

i64 Cost::ns() const {
  IntervalSet alone = (IntervalSet(time_) & IntervalSet(facts_.windows.steps)) - facts_.computing;
  std::vector<Interval> on_path;
  for (const PathPiece& piece : facts_.path)
    if (counts(facts_.model.gpu[piece.work])) on_path.push_back({piece.begin_ns, piece.end_ns});
  return (alone | IntervalSet(std::move(on_path))).length();
}

}  // namespace tprof::rules
