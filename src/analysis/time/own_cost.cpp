#include "analysis/time/own_cost.h"

#include <algorithm>

namespace tprof {

OwnCost own_cost(const Model& model, const Windows& windows) {
  OwnCost out;
  auto inside = [&](i64 ns) { return windows.holds(ns); };
  std::vector<Interval> overhead;
  for (const GpuEvent& work : model.gpu) {
    if (work.kind() == Kind::overhead)
      overhead.push_back({work.begin_ns, work.end_ns()});
    else
      out.events += inside(work.begin_ns);
  }
  for (const Event& event : model.events) out.events += inside(event.begin_ns);
  for (const CallEvent& call : model.calls) {
    out.events += inside(call.begin_ns);
    out.cuda |= model.names[call.name].starts_with("cu");
  }
  for (const MemoryEvent& event : model.memory) out.events += inside(event.ns);
  for (const NvtxMark& mark : model.marks) out.events += inside(mark.ns);
  if (!overhead.empty()) out.cupti_ns = (IntervalSet(std::move(overhead)) & windows.time).length();
  if (model.own_ns) out.process_ns = i64(model.own_ns);
  return out;
}

}  // namespace tprof
