// Rules of advice about a GPU that is idle: too little work, synchronisation, gaps between its activities.
#include "analysis/advice/idle_time.h"
#include "analysis/advice/rule.h"

namespace tprof::rules {
// The utilisation as the plugin defines it (kernels only), for the least used GPU. The saving is not known: it depends
// on what a larger batch costs. A larger batch helps where the host is late in what each step repeats, so the edges of
// a window do not count. Where loading, Python and operators, or launches are the cause, DL1, HB1, LN1 and WU2 report
// it.
std::optional<Match> low_utilization(const Facts& facts) {
  const DeviceExposed* least = nullptr;
  auto used = [](const DeviceExposed& row) { return row.all.computation_ns + row.all.exposed_communication_ns; };
  for (const DeviceExposed& row : facts.exposed)
    if (!least || used(row) < used(*least)) least = &row;
  if (!least) return {};
  const IdleLane* lane = facts.gpu;
  for (const IdleLane& other : facts.lanes)
    if (other.stream == kNone && other.device == least->device) lane = &other;
  double idle = 1 - facts.share(double(used(*least))), edges = facts.share(double(lane->edges_ns));
  i64 late = lane->of(IdleCause::host_wait) - lane->at_edges_of(IdleCause::host_wait);
  i64 loads = lane->of(Activity::data_loading) - lane->at_edges[u32(Activity::data_loading)];
  if (facts.share(double(late - loads - waits_for_code(facts) - between_activities(*lane).launching)) < 0.5 * idle)
    return {};
  return Match{idle, idle, -1,
               "GPU " + std::to_string(least->device) + " runs kernels " + share_text(1 - idle) + " of the time; " +
                   share_text(facts.share(double(lane->of(IdleCause::host_wait)))) + " it waits for the host" +
                   (edges < 0.05 ? "."
                                 : "; " + share_text(edges) + " is before its first activity and after its last."),
               after_gaps(*lane, [](const Gap&) { return true; })};
}

std::optional<Match> synchronisation(const Facts& facts) {
  if (!facts.gpu) return {};
  HostTime after = after_sync(*facts.gpu);
  i64 ns = in_steps(facts, after.running + after.launching + facts.gpu->after_sync[u32(Activity::synchronising)]);
  double share = facts.share(double(ns));
  Heaviest calls(Evidence::Kind::call);
  std::map<u32, i64> by_op;
  for (const Gap& gap : facts.gpu->gaps) {
    if (gap.sync == kNone) continue;
    calls.add(gap.length(), gap.sync);
    const CallEvent& call = facts.model.calls[gap.sync];
    by_op[call.op >= 0 ? facts.model.events[call.op].name : call.name] += gap.length();
  }
  if (by_op.empty()) return {};
  auto most = std::max_element(by_op.begin(), by_op.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return Match{share, share, facts.windows.per_step(ns),
               "After the host has waited for the GPU, the GPU's queue is empty for " + ms(facts.windows.per_step(ns)) +
                   " per step; most of it after \"" + facts.model.names[most->first] + "\".",
               calls.take()};
}

// Gaps of at least 1 ms and 2 % of a step, and more than one of them. The trace does not show what they wait for, so
// the saving is not known. Gaps next to an activity that a graph launched do not count: CUPTI does not record all
// kernels of all graphs.
std::optional<Match> stream_gaps(const Facts& facts) {
  if (!facts.gpu) return {};
  double least = std::max(1e6, 0.02 * facts.step_ns());
  auto of_graph = [&](const GpuEvent& work) {
    return work.call != kNone && facts.classes.is(facts.model.calls[work.call], NameClass::replays);
  };
  auto launched_by_graph = [&](const Gap& gap) {
    if (gap.next == kNone || of_graph(facts.model.gpu[gap.next])) return true;
    for (u32 i = gap.next; i-- > 0;) {
      const GpuEvent& before = facts.model.gpu[i];
      if (before.runs_on_gpu() && before.device == facts.gpu->device && before.end_ns() == gap.begin_ns)
        return of_graph(before);
      if (before.begin_ns < gap.begin_ns - i64(least) && before.end_ns() < gap.begin_ns) break;
    }
    return false;
  };
  auto is_it = [&](const Gap& gap) {
    bool unexplained =
        gap.cause == IdleCause::other || gap.cause == IdleCause::device || gap.cause == IdleCause::unknown;
    return unexplained && !gap.edge && double(gap.length()) >= least && !launched_by_graph(gap);
  };
  i64 ns = 0;
  u64 count = 0;
  for (const Gap& gap : facts.gpu->gaps)
    if (is_it(gap)) ns += gap.length(), count++;
  if (count < 2) return {};
  ns = in_steps(facts, ns);
  double share = facts.share(double(ns));
  return Match{share, share, -1,
               "Long gaps that no late launch explains take " + ms(facts.windows.per_step(ns)) + " per step.",
               after_gaps(*facts.gpu, is_it)};
}

}  // namespace tprof::rules
