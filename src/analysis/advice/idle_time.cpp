#include "analysis/advice/idle_time.h"

namespace tprof::rules {
namespace {

HostTime host_time(const i64 (&ns)[kActivities], i64 launch_ns) {
  auto of = [&](Activity a) { return ns[u32(a)]; };
  return {of(Activity::operating) + of(Activity::between) + of(Activity::other_call) + of(Activity::nothing),
          of(Activity::launching) + launch_ns};
}

}  // namespace

HostTime between_activities(const IdleLane& lane) {
  HostTime all = host_time(lane.by_activity, lane.launch_ns);
  HostTime edges = host_time(lane.at_edges, lane.launch_at_edges_ns);
  return {all.running - edges.running, all.launching - edges.launching};
}

HostTime after_sync(const IdleLane& lane) { return host_time(lane.after_sync, lane.launch_after_sync_ns); }

i64 in_steps(const Facts& facts, i64 ns) {
  std::vector<Interval> busy;
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu() && work.device == facts.gpu->device) busy.push_back({work.begin_ns, work.end_ns()});
  return std::min(ns, (IntervalSet(facts.windows.steps) - IntervalSet(std::move(busy))).length());
}

i64 waits_for_code(const Facts& facts) {
  return in_steps(facts, between_activities(*facts.gpu).running - after_sync(*facts.gpu).running);
}

}  // namespace tprof::rules
