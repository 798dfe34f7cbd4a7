// Rules of advice about where the time of a step goes.
#include "analysis/advice_rules.h"

namespace tprof::rules {
namespace {

std::vector<Evidence> longest_ranges(const Facts& facts, Word word) {
  Heaviest heaviest(Evidence::Of::range);
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (facts.words.is(e, word) && facts.inside(e.begin_ns)) heaviest.add(e.dur_ns, i);
  }
  return heaviest.take();
}

template <class Keep>
std::vector<Evidence> longest_works(const Facts& facts, Keep keep) {
  Heaviest heaviest(Evidence::Of::work);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && keep(work)) heaviest.add(work.dur_ns, i);
  }
  return heaviest.take();
}

// The works that ended the longest gaps.
template <class Keep>
std::vector<Evidence> after_gaps(const IdleLane& lane, Keep keep) {
  Heaviest heaviest(Evidence::Of::work);
  for (const Gap& gap : lane.gaps)
    if (gap.next != kNone && keep(gap)) heaviest.add(gap.length(), gap.next);
  return heaviest.take();
}

// Time of a lane's host waits that the host spent outside of the DataLoader and the allocator, which have rules of
// their own, and what a launch itself took.
struct HostTime {
  i64 running, launching;
};
HostTime host_time(const i64 (&ns)[kActivities], i64 launch_ns) {
  auto of = [&](Activity a) { return ns[static_cast<u32>(a)]; };
  return {of(Activity::operating) + of(Activity::between) + of(Activity::other_call) + of(Activity::nothing),
          of(Activity::launching) + launch_ns};
}
// Between works: what goes before the first and comes behind the last one is no cost of a step.
HostTime all_of(const IdleLane& lane) {
  HostTime all = host_time(lane.by_activity, lane.launch_ns);
  HostTime edges = host_time(lane.at_edges, lane.launch_at_edges_ns);
  return {all.running - edges.running, all.launching - edges.launching};
}
HostTime behind_sync(const IdleLane& lane) { return host_time(lane.after_sync, lane.launch_after_sync_ns); }

std::string quoted(const Facts& facts, const HostReason& reason) {
  return reason.name == kNone ? activity_text(reason.activity) : '"' + facts.model.names[reason.name] + '"';
}

// What of the time of communication is waiting for other ranks, 0 where that is not known.
double waiting_ns(const Facts& facts, double communication_ns) {
  return std::clamp(double(facts.rank.wait_ns), 0.0, communication_ns);
}

double loading(const Facts& facts) { return facts.sum_ns(Category::data_loading); }

}  // namespace

// Time in which nothing goes on but loading; that is what workers would hide.
std::optional<Match> data_loading(const Facts& facts) {
  if (!facts.words.any(Word::data_loading)) return {};
  double share = facts.share(loading(facts)), saving = facts.windows.per_step(loading(facts));
  return Match{
      share, share, saving,
      "The DataLoader takes " + ms(saving) + " of a step of " + ms(facts.step_ns()) + " (" + percent(share) + ")" +
          (facts.words.any(Word::single_process_loader) ? ", in the training process itself (num_workers=0)." : "."),
      longest_ranges(facts, Word::data_loading)};
}

// Only where DL1 does not say it already.
std::optional<Match> synchronous_loader(const Facts& facts) {
  if (!facts.words.any(Word::single_process_loader) || facts.share(loading(facts)) > 0.05) return {};
  std::vector<Interval> ranges;
  for (const Event& e : facts.model.events)
    if (facts.words.is(e, Word::single_process_loader)) ranges.push_back({e.begin_ns, e.end_ns()});
  i64 ns = (IntervalSet(std::move(ranges)) & facts.windows.time).length();
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(loading(facts)),
               "Loading a batch keeps the training process busy for " + ms(facts.windows.per_step(ns)) + " per step.",
               longest_ranges(facts, Word::single_process_loader)};
}

// Halving communication, hidden or not, by accumulating over two batches would save half of what is exposed. It does
// not shorten waiting for other ranks, which RK1 speaks of.
std::optional<Match> communication(const Facts& facts) {
  auto is_it = [&](const GpuEvent& work) { return facts.words.work(work) == Work::communication; };
  double ns = facts.gpu_time ? double(facts.gpu_time->communication_ns) : facts.sum_ns(Category::communication);
  double exposed = facts.gpu_time ? double(facts.gpu_time->exposed_communication_ns) : ns;
  double waiting = waiting_ns(facts, ns);
  ns -= waiting;
  if (ns <= 0 || waiting > ns) return {};
  double share = facts.share(ns);
  std::string beside = ", beside " + ms(facts.windows.per_step(waiting)) + " of waiting for other ranks";
  return Match{share, share, facts.windows.per_step(std::min(exposed, ns)) / 2,
               "Communication runs for " + ms(facts.windows.per_step(ns)) + " per step (" + percent(share) + ")" +
                   (waiting > 0 ? beside : "") + ".",
               facts.gpu_time ? longest_works(facts, is_it) : longest_ranges(facts, Word::communication_op)};
}

std::optional<Match> exposed_communication(const Facts& facts) {
  if (!facts.gpu_time || facts.gpu_time->communication_ns == 0) return {};
  auto all = double(facts.gpu_time->communication_ns), exposed = double(facts.gpu_time->exposed_communication_ns);
  double ns = std::min(exposed, all - waiting_ns(facts, all));  // computation behind the wait cannot hide it
  double share = facts.share(ns);
  return Match{
      share, share, facts.windows.per_step(ns),
      ms(facts.windows.per_step(exposed)) + " of communication per step are not hidden by computation; " +
          percent(facts.gpu_time->overlap()) + " of it are.",
      longest_works(facts, [&](const GpuEvent& work) { return facts.words.work(work) == Work::communication; })};
}

// As the plugin defines it (kernels only), of the least used GPU. What a larger batch saves per sample is not known.
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
  return Match{idle, idle, -1,
               "GPU " + std::to_string(least->device) + " runs kernels " + percent(1 - idle) + " of the time; " +
                   percent(facts.share(double(lane->of(IdleCause::host_wait)))) + " it waits for the host" +
                   (edges < 0.05 ? "." : "; " + percent(edges) + " lie before its first work and behind its last."),
               after_gaps(*lane, [](const Gap&) { return true; })};
}

std::optional<Match> host_bound(const Facts& facts) {
  if (!facts.gpu) return {};
  i64 ns = all_of(*facts.gpu).running - behind_sync(*facts.gpu).running;
  double share = facts.share(double(ns));
  const HostReason* longest = nullptr;
  auto inner = [](const HostReason& reason) { return reason.ns - reason.edges_ns; };
  for (const HostReason& reason : facts.gpu->reasons) {
    bool runs = reason.activity == Activity::operating || reason.activity == Activity::between;
    if (runs && inner(reason) > (longest ? inner(*longest) : 0)) longest = &reason;
  }
  std::string most;
  if (longest)
    most = "; most of it in " + quoted(facts, *longest) + " (" + ms(facts.windows.per_step(inner(*longest))) + ")";
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) + " of a step the GPU has nothing to do because Python and "
               "operators on the CPU have not come to the next launch" + most + ".",
               after_gaps(*facts.gpu, [](const Gap& gap) {
                 bool runs = gap.most == Activity::operating || gap.most == Activity::between;
                 return runs && !gap.edge && gap.sync == kNone;
               })};
}

std::optional<Match> launch_bound(const Facts& facts) {
  if (!facts.gpu) return {};
  i64 ns = all_of(*facts.gpu).launching - behind_sync(*facts.gpu).launching;
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) + " of a step the GPU waits for a launch that is under way; "
               "a step has " + std::to_string(u64(double(facts.launches.works) / double(facts.windows.steps.size()))) +
                   " launches.",
               after_gaps(*facts.gpu, [](const Gap& gap) { return !gap.edge && gap.cause == IdleCause::host_wait; })};
}

// Saves at most what their launches cost, and no more than the GPU waits for them.
std::optional<Match> tiny_kernels(const Facts& facts) {
  const Launches& l = facts.launches;
  if (!facts.gpu || l.works == 0) return {};
  HostTime wait = all_of(*facts.gpu);
  double saving = facts.windows.per_step(std::min(l.short_host_ns - l.short_wait_ns, wait.running + wait.launching));
  Heaviest costly(Evidence::Of::work);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (!work.runs_on_gpu() || work.call == kNone || !facts.inside(work.begin_ns)) continue;
    i64 more = facts.model.calls[work.call].dur_ns - facts.waits.ns(work.call) - work.dur_ns;
    if (more > 0) costly.add(more, i);
  }
  return Match{double(l.shorter_than_launch) / double(l.works), facts.share(double(l.short_gpu_ns)), saving,
               std::to_string(l.shorter_than_launch) + " of " + std::to_string(l.works) +
                   " kernels and copies are shorter than the call that launched them.",
               costly.take()};
}

std::optional<Match> synchronisation(const Facts& facts) {
  if (!facts.gpu) return {};
  HostTime after = behind_sync(*facts.gpu);
  i64 ns = after.running + after.launching + facts.gpu->after_sync[static_cast<u32>(Activity::synchronising)];
  double share = facts.share(double(ns));
  Heaviest calls(Evidence::Of::call);
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
               "After waits for the GPU its queue is empty for " + ms(facts.windows.per_step(ns)) +
                   " per step; most of it after \"" + facts.model.names[most->first] + "\".",
               calls.take()};
}

// The first step may allocate; a single one says nothing.
std::optional<Match> allocation(const Facts& facts) {
  if (!facts.windows.has_steps || facts.windows.steps.size() < 2) return {};
  i64 from = facts.windows.steps[1].begin, ns = 0;
  u64 count = 0;
  Heaviest calls(Evidence::Of::call);
  for (u32 i = 0; i < facts.model.calls.size(); i++) {
    const CallEvent& call = facts.model.calls[i];
    if (call.begin_ns < from || !facts.inside(call.begin_ns) || !facts.words.is(call, Word::allocates)) continue;
    ns += call.dur_ns;
    count++;
    calls.add(call.dur_ns, i);
  }
  if (!count) return {};
  double steps = double(facts.windows.steps.size() - 1);
  double share = double(ns) / double(facts.windows.time.length_in(from, facts.windows.all.end));
  return Match{share, share, double(ns) / steps,
               std::to_string(count) + " calls behind the first step allocate or free memory through the driver, " +
                   ms(double(ns) / steps) + " per step.",
               calls.take()};
}

// Gaps that matter: at least 1 ms or 2 % of a step.
std::optional<Match> stream_gaps(const Facts& facts) {
  if (!facts.gpu) return {};
  double least = std::max(1e6, 0.02 * facts.step_ns());
  auto is_it = [&](const Gap& gap) {
    bool unexplained =
        gap.cause == IdleCause::other || gap.cause == IdleCause::device || gap.cause == IdleCause::unknown;
    return unexplained && !gap.edge && double(gap.length()) >= least;
  };
  i64 ns = 0;
  for (const Gap& gap : facts.gpu->gaps)
    if (is_it(gap)) ns += gap.length();
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns),
               "Long gaps that no late launch explains take " + ms(facts.windows.per_step(ns)) + " per step.",
               after_gaps(*facts.gpu, is_it)};
}

std::optional<Match> host_copies(const Facts& facts) {
  i64 worst = 0;
  CopyKind kind = CopyKind::unknown;
  for (CopyKind k : {CopyKind::to_device, CopyKind::to_host}) {
    i64 sum = 0;
    for (const Copies& row : facts.copies)
      if (row.kind == k) sum += row.ns;
    if (sum > worst) worst = sum, kind = k;
  }
  if (!worst) return {};
  double share = facts.share(double(worst));
  return Match{
      share, share, facts.windows.per_step(std::min(worst, facts.gpu_time->exposed_copies_ns)),
      std::string("Copies from ") + copy_kind_text(kind) + " take " + ms(facts.windows.per_step(worst)) + " per step.",
      longest_works(facts, [&](const GpuEvent& w) { return w.kind() == Kind::copy && copy_kind_of(w) == kind; })};
}

// From pinned memory a copy is about twice as fast, and does not hold up its caller: half of the time is saved.
std::optional<Match> pageable_copies(const Facts& facts) {
  i64 ns = 0;
  u64 bytes = 0;
  for (const Copies& row : facts.copies)
    if (row.memory == HostMemory::pageable) ns += row.ns, bytes += row.bytes;
  if (!ns) return {};
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns) / 2,
               mib(facts.windows.per_step(double(bytes))) + " per step go through pageable host memory, at " +
                   std::to_string(double(bytes) / double(ns)).substr(0, 4) + " GB/s.",
               longest_works(facts, [](const GpuEvent& w) {
                 return w.kind() == Kind::copy && host_memory_of(w) == HostMemory::pageable;
               })};
}

// Saves what their calls take of the host.
std::optional<Match> many_copies(const Facts& facts) {
  u64 count = 0;
  i64 host = 0;
  auto is_it = [](const GpuEvent& w) {
    return w.kind() == Kind::copy && (copy_kind_of(w) == CopyKind::to_device || copy_kind_of(w) == CopyKind::to_host);
  };
  for (const GpuEvent& work : facts.model.gpu) {
    if (!is_it(work) || !facts.inside(work.begin_ns)) continue;
    count++;
    if (work.call != kNone) host += facts.model.calls[work.call].dur_ns;
  }
  if (!count) return {};
  double each = double(count) / double(facts.windows.steps.size());
  return Match{each, facts.share(double(host)), facts.windows.per_step(host),
               std::to_string(u64(each)) + " copies per step cross between host and GPU.", longest_works(facts, is_it)};
}

}  // namespace tprof::rules
