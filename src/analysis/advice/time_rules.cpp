// Rules of advice about where the time of a step goes.
#include <utility>

#include "analysis/advice/rule.h"

namespace tprof::rules {
namespace {

constexpr i64 kForkNs = 1'000'000;  // a process takes longer to be made
constexpr u64 kStagedBytes = 64 << 10;
constexpr u64 kBatchBytes = 1 << 20;  // what copies as much has to be copied
constexpr double kManyCopies = 10;

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

// Gaps may lie between two steps as well: no more of them counts than the GPU is idle in the steps.
i64 in_steps(const Facts& facts, i64 ns) {
  std::vector<Interval> busy;
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu() && work.device == facts.gpu->device) busy.push_back({work.begin_ns, work.end_ns()});
  return std::min(ns, (IntervalSet(facts.windows.steps) - IntervalSet(std::move(busy))).length());
}

// The GPU has nothing to do because code on the host has not come to the next launch.
i64 waits_for_code(const Facts& facts) {
  return in_steps(facts, all_of(*facts.gpu).running - behind_sync(*facts.gpu).running);
}

// Of work of a kind: its time in which no kernel runs.
template <class Keep>
i64 works_alone(const Facts& facts, Keep keep) {
  Cost cost(facts);
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && keep(work)) cost.time(work.begin_ns, work.end_ns());
  return cost.ns();
}

std::string quoted(const Facts& facts, const HostReason& reason) {
  return reason.name == kNone ? activity_text(reason.activity) : '"' + facts.model.names[reason.name] + '"';
}

// What of the time of communication is waiting for other ranks, 0 where nothing tells.
double waiting_ns(const Facts& facts, double communication_ns) {
  i64 ns = facts.rank.wait_ns >= 0 ? facts.rank.wait_ns : facts.slow_collectives_ns;
  return std::clamp(double(ns), 0.0, communication_ns);
}

// Of works that `keep` takes: the time in the windows in which their GPU, the busiest one, computes nothing.
template <class Keep>
i64 exposed_works(const Facts& facts, Keep keep) {
  std::vector<Interval> kept, computing;
  for (const GpuEvent& work : facts.model.gpu) {
    if (!work.runs_on_gpu() || work.device != facts.gpu->device) continue;
    if (keep(work))
      kept.push_back({work.begin_ns, work.end_ns()});
    else if (work.kind() == Kind::kernel && facts.words.work(work) == Work::computation)
      computing.push_back({work.begin_ns, work.end_ns()});
  }
  return ((IntervalSet(std::move(kept)) & facts.windows.time) - IntervalSet(std::move(computing))).length();
}

bool exchanges_gradients(const Facts& facts, const GpuEvent& work) {
  return facts.exchanges[size_t(&work - facts.model.gpu.data())];
}

double loading(const Facts& facts) { return facts.sum_ns(Category::data_loading); }

// How many workers are too many depends on the machine's cores, which a trace does not tell.
std::string loader_fix(const Facts& facts) {
  std::string pinned = facts.gpu ? ", pin_memory=True" : "";
  return facts.words.any(Word::single_process_loader)
             ? "Load in the background: DataLoader(num_workers=2 or more, as long as cores are free" + pinned + ")."
             : "Make samples cheaper to load; more workers, as long as cores are free; a larger prefetch_factor" +
                   pinned + ".";
}

// Where most of the GPU's work is replayed, capturing it is no advice.
std::string replay_fix(const Facts& facts, const char* fix) { return facts.replays_graphs ? fix : ""; }

// A Python call, but not that of an nn.Module, which says nothing of lines.
bool is_function(const Event& e) { return (e.flags & kEventPython) && e.python && e.python->module == kNone; }

// How a reader gets from "in Python" to a line of it.
std::string lines_hint(const Facts& facts) {
  if (facts.model.stacks.size() > 1) return "";
  return "; --with-stack shows the lines around it, --with-stack=calls its functions";
}

}  // namespace

// Time in which nothing goes on but loading. Workers load while the rest of the step runs, so a step takes the longer
// of the two; two workers, where there are cores for them, halve the loading. What starting workers takes is no step's
// usual time (DL3): steps with a start do not count.
std::optional<Match> data_loading(const Facts& facts) {
  if (!facts.words.any(Word::data_loading)) return {};
  double ns = facts.windows.per_step(loading(facts)), share = facts.share(loading(facts)), saved = ns;
  std::vector<bool> starts = steps_with_loader_start(facts);
  double usual_us = 0, usual_loading_us = 0;
  size_t usual = 0;
  for (size_t s = 0; s < starts.size() && starts.size() == facts.overview.steps.size(); s++) {
    if (starts[s]) continue;
    usual++;
    usual_us += facts.overview.steps[s].us;
    usual_loading_us += facts.overview.steps[s].by[static_cast<u32>(Category::data_loading)];
  }
  bool only_starts = !usual && facts.windows.has_steps;
  if (only_starts && !facts.words.any(Word::single_process_loader)) return {};
  if (usual && usual < starts.size() && usual_us > 0) {
    share = usual_loading_us / usual_us;
    ns = usual_loading_us * 1000 / double(usual);
    saved = facts.windows.per_step(usual_loading_us * 1000);  // those with a start save nothing
  }
  double rest = std::max(0.0, facts.step_ns() - ns);
  return Match{
      share,
      share,
      facts.words.any(Word::single_process_loader) ? std::min(saved, std::max(rest, saved / 2)) : saved,
      "The DataLoader takes " + ms(ns) + " of a step of " + ms(facts.step_ns()) + " (" + percent(share) + ")" +
          (facts.words.any(Word::single_process_loader)
               ? ", in the training process itself (num_workers=0); workers load while the rest of the step runs."
               : "."),
      longest_ranges(facts, Word::data_loading),
      loader_fix(facts)};
}

// Only where DL1 does not say it already.
std::optional<Match> synchronous_loader(const Facts& facts) {
  if (!facts.words.any(Word::single_process_loader) || facts.share(loading(facts)) > 0.05) return {};
  std::vector<Interval> ranges;
  for (const Event& e : facts.model.events)
    if (facts.words.is(e, Word::single_process_loader)) ranges.push_back({e.begin_ns, e.end_ns()});
  i64 ns = (IntervalSet(std::move(ranges)) & facts.windows.time).length();
  double share = facts.share(double(ns));
  return Match{share,
               share,
               facts.windows.per_step(std::min(double(ns), loading(facts))),
               "Loading a batch keeps the training process busy for " + ms(facts.windows.per_step(ns)) + " per step.",
               longest_ranges(facts, Word::single_process_loader),
               loader_fix(facts)};
}

std::vector<LoaderStart> loader_starts(const Facts& facts) {
  const Model& model = facts.model;
  struct Draw {
    u32 event;
    u64 seeds = 0, orders = 0;  // drawn between the draw before and this one
    bool computes = false;      // gradients, in between
  };
  std::vector<Draw> draws;
  Draw next;
  std::vector<i64> lengths;
  i64 until = INT64_MIN;  // the end of the draw before: operators in it are the loader's
  for (u32 i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    if (e.begin_ns < until) continue;
    next.seeds += facts.words.is(e, Word::draws_seed);
    next.orders += facts.words.is(e, Word::draws_order) && (e.parent < 0 || !is_operator(model.events[e.parent]));
    next.computes |= static_cast<Scope>(e.scope) == Scope::backward;
    if (!facts.words.is(e, Word::data_loading) || facts.words.is(e, Word::single_process_loader)) continue;
    next.event = i;
    draws.push_back(std::exchange(next, {}));
    lengths.push_back(e.dur_ns);
    until = e.end_ns();
  }
  i64 usual = median_of(lengths);
  std::vector<LoaderStart> out;
  for (size_t k = 0; k < draws.size(); k++) {
    const Event& e = model.events[draws[k].event];
    i64 before = k ? model.events[draws[k - 1].event].end_ns() : e.begin_ns;
    bool starts = draws[k].seeds > draws[k].orders && !draws[k].computes && e.begin_ns - before > kForkNs;
    if (e.dur_ns > usual && (starts || !k)) out.push_back({before, e.end_ns(), draws[k].event, usual, k == 0});
  }
  return out;
}

std::vector<bool> steps_with_loader_start(const Facts& facts) {
  std::vector<bool> out(facts.windows.steps.size());
  for (const LoaderStart& start : loader_starts(facts))
    for (size_t s = 0; s < out.size(); s++)
      if (facts.windows.steps[s].begin < start.end_ns && start.begin_ns <= facts.windows.steps[s].end) out[s] = true;
  return out;
}

// Between the draw that finds a loader exhausted and the next one, no batch is computed on. A new iterator draws a seed
// for its workers there, beside that of a random order, and forks them; the next draw waits until they have started.
// One that keeps its workers does not.
std::optional<Match> restarted_workers(const Facts& facts) {
  Cost cost(facts);
  Heaviest first(Evidence::Of::range);
  u64 restarts = 0;
  for (const LoaderStart& start : loader_starts(facts)) {
    if (start.first || !facts.inside(facts.model.events[start.draw].begin_ns)) continue;
    restarts++;
    cost.time(start.begin_ns, start.end_ns - start.usual_ns);
    first.add(facts.model.events[start.draw].dur_ns, start.draw);
  }
  if (!restarts) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(restarts) +
                   " times the loader's processes are started anew before an epoch; with their "
                   "first batch that takes " +
                   ms(double(cost.ns()) / double(restarts)) + " each time.",
               first.take()};
}

// Halving the exchange of gradients, hidden or not, by accumulating over two batches would save half of what is exposed.
// It does not shorten waiting for other ranks, which RK1 speaks of, nor what is sent for another reason.
std::optional<Match> communication(const Facts& facts) {
  auto is_it = [&](const GpuEvent& work) { return exchanges_gradients(facts, work); };
  double ns = 0;
  for (const GpuEvent& work : facts.model.gpu)
    if (facts.gpu && work.device == facts.gpu->device && is_it(work) && facts.inside(work.begin_ns))
      ns += double(work.dur_ns);
  if (!facts.gpu) ns = facts.sum_ns(Category::communication);
  double exposed = facts.gpu ? double(exposed_works(facts, is_it)) : ns;
  double waiting = waiting_ns(facts, ns);
  ns -= waiting;
  if (ns <= 0 || waiting > ns) return {};
  double share = std::min(1.0, facts.share(ns));
  std::string beside = ", beside " + ms(facts.windows.per_step(waiting)) + " of waiting for other ranks";
  return Match{share,
               share,
               facts.windows.per_step(std::min(exposed, ns)) / 2,
               (facts.gpu ? "Exchanges of gradients run for " : "Communication runs for ") +
                   ms(facts.windows.per_step(ns)) + " per step (" + percent(share) + ")" + (waiting > 0 ? beside : "") +
                   ".",
               facts.gpu ? longest_works(facts, is_it) : longest_ranges(facts, Word::communication_op),
               facts.trains ? "" : "Spread the model over fewer GPUs, or send less (half precision, quantised)."};
}

// What computation there is can hide no more than its own time.
std::optional<Match> exposed_communication(const Facts& facts) {
  if (!facts.gpu_time || facts.gpu_time->communication_ns == 0) return {};
  auto all = double(facts.gpu_time->communication_ns), exposed = double(facts.gpu_time->exposed_communication_ns);
  double alone = double(facts.gpu_time->computation_ns) - (all - exposed);  // computation without communication
  double ns = std::min(exposed, all - waiting_ns(facts, all));  // computation behind the wait cannot hide it
  ns = std::clamp(alone, 0.0, ns);
  double share = facts.share(ns);
  i64 of_gradients = exposed_works(facts, [&](const GpuEvent& work) { return exchanges_gradients(facts, work); });
  const char* fix =
      "Compute meanwhile what does not depend on it (the dense part of the model, the other half of the "
      "batch), and send less: half precision, even shares.";
  return Match{
      share,
      share,
      facts.windows.per_step(ns),
      ms(facts.windows.per_step(exposed)) + " of communication per step are not hidden by computation; " +
          percent(facts.gpu_time->overlap()) + " of it are" +
          (ns < exposed / 2 ? ", and there is not more to hide it behind than " + ms(facts.windows.per_step(ns)) : "") +
          ".",
      longest_works(facts, [&](const GpuEvent& work) { return facts.words.work(work) == Work::communication; }),
      facts.trains && double(of_gradients) > exposed / 2 ? "" : fix};
}

// As the plugin defines it (kernels only), of the least used GPU. What a larger batch saves per sample is not known. It
// helps where the host is late for what each step does again: not at a window's edges. Where batches, Python and
// operators, or launches are the reason, DL1, HB1, LN1 and WU2 say so.
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
  i64 loads = lane->of(Activity::data_loading) - lane->at_edges[static_cast<u32>(Activity::data_loading)];
  if (facts.share(double(late - loads - waits_for_code(facts) - all_of(*lane).launching)) < 0.5 * idle) return {};
  return Match{idle, idle, -1,
               "GPU " + std::to_string(least->device) + " runs kernels " + percent(1 - idle) + " of the time; " +
                   percent(facts.share(double(lane->of(IdleCause::host_wait)))) + " it waits for the host" +
                   (edges < 0.05 ? "." : "; " + percent(edges) + " lie before its first work and behind its last."),
               after_gaps(*lane, [](const Gap&) { return true; })};
}

std::optional<Match> host_bound(const Facts& facts) {
  if (!facts.gpu || facts.captures) return {};
  i64 ns = waits_for_code(facts);
  double share = facts.share(double(ns));
  const HostReason* longest = nullptr;
  auto inner = [](const HostReason& reason) { return reason.ns - reason.edges_ns; };
  for (const HostReason& reason : facts.gpu->reasons) {
    bool runs = reason.activity == Activity::operating || reason.activity == Activity::between;
    if (runs && inner(reason) > (longest ? inner(*longest) : 0)) longest = &reason;
  }
  std::string most;
  if (longest)
    most = "; most of it in " + quoted(facts, *longest) + " (" + ms(facts.windows.per_step(inner(*longest))) + ")" +
           (longest->activity == Activity::between ? lines_hint(facts) : "");
  return Match{share,
               share,
               facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) +
                   " of a step the GPU has nothing to do because Python and "
                   "operators on the CPU have not come to the next launch" +
                   most + ".",
               after_gaps(*facts.gpu,
                          [](const Gap& gap) {
                            bool runs = gap.most == Activity::operating || gap.most == Activity::between;
                            return runs && !gap.edge && gap.sync == kNone;
                          }),
               replay_fix(facts, "Do less in Python between two replays, and prepare the next one while one runs.")};
}

// Time in which nothing that is recorded goes on, in any thread, but labels and Python. On a GPU HB1 says it, if that is
// what it waits for. Before the first and after the last thing that the host did nothing tells what it does.
std::optional<Match> python_bound(const Facts& facts) {
  if (facts.lacks_backward || facts.captures) return {};
  const Model& model = facts.model;
  std::vector<Interval> busy;
  auto add = [&](const auto& x) { busy.push_back({x.begin_ns, x.end_ns()}); };
  i64 first = INT64_MAX, last = INT64_MIN;
  auto host = [&](const auto& x) {
    first = std::min(first, x.begin_ns);
    last = std::max(last, x.end_ns());
  };
  std::vector<bool> profiles(model.events.size());  // a profiler that starts or stops, or something in it
  for (size_t i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    profiles[i] = facts.words.is(e, Word::profiler_frame) || (e.parent >= 0 && profiles[size_t(e.parent)]);
    if (profiles[i]) {
      add(e);
      continue;
    }
    if (is_operator(e) || facts.words.is(e, Word::data_loading)) add(e), host(e);
    if (facts.words.is(e, Word::communication_op)) add(e);  // in a thread of its own, others wait for it
    if (!is_function(e)) continue;
    first = std::min(first, e.begin_ns);  // its end may be that of the recording
    last = std::max(last, e.begin_ns);
  }
  for (const CallEvent& call : model.calls) host(call);
  for (const CallEvent& call : model.calls) add(call);
  for (const GpuEvent& work : model.gpu)
    if (work.runs_on_gpu()) add(work);
  if (std::none_of(model.events.begin(), model.events.end(), is_operator)) return {};  // the host was not recorded
  IntervalSet none = (IntervalSet(facts.windows.steps) & IntervalSet(first, last)) - IntervalSet(std::move(busy));
  // Where other programs took the CPU, they did so here as much as elsewhere.
  double ns = double(none.length()) * (1 - std::clamp(facts.waited, 0.0, 1.0));
  double share = facts.share(ns);
  if (facts.gpu && double(waits_for_code(facts)) >= 0.5 * double(none.length())) return {};
  // Python calls, if they were recorded: what a call does itself is its part of it without that of the calls in it.
  std::vector<i64> self(model.events.size());
  std::map<u32, i64> by_name;
  u32 main = main_thread_of(model), most = kNone;
  for (u32 i = u32(model.events.size()); i-- > 0;) {
    const Event& e = model.events[i];
    if (e.thread != main || !is_function(e)) continue;
    i64 ns = none.length_in(e.begin_ns, e.end_ns());
    i64& of_name = by_name[e.name] += ns + self[i];
    if (most == kNone || of_name > by_name[most]) most = e.name;
    i32 caller = e.parent;
    while (caller >= 0 && !is_function(model.events[caller])) caller = model.events[caller].parent;
    if (caller >= 0) self[caller] -= ns;
  }
  Heaviest after(Evidence::Of::range);
  size_t next = 0;
  for (const Interval& hole : none.intervals()) {
    while (next < model.events.size() && (model.events[next].thread != main || !is_operator(model.events[next]) ||
                                          model.events[next].begin_ns < hole.end))
      next++;
    if (next < model.events.size()) after.add(hole.length(), u32(next));
  }
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) + " of a step (" + percent(share) +
                   ") no operator, CUDA call or DataLoader runs: it is Python, or other code, between them" +
                   (most == kNone ? lines_hint(facts) : "; most of it in \"" + model.names[most] + '"') + ".",
               after.take()};
}

// Launches of graphs take long because they launch much, and those beyond kFirstLaunchNs because the kernel was loaded
// first, or the queue was full.
std::optional<Match> launch_bound(const Facts& facts) {
  if (!facts.gpu || facts.captures) return {};
  auto costs = [&](const Gap& gap) {
    if (gap.cause != IdleCause::host_wait || gap.edge || gap.next == kNone) return false;
    const CallEvent& call = facts.model.calls[facts.model.gpu[gap.next].call];
    return !facts.words.is(call, Word::replays) && call.dur_ns <= kFirstLaunchNs;
  };
  Cost cost(facts);
  for (const Gap& gap : facts.gpu->gaps)
    if (costs(gap) && gap.sync == kNone) cost.time(gap.begin_ns + gap.host_ns, gap.end_ns);
  i64 ns = cost.ns();
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) +
                   " of a step the GPU waits for a launch that is under way; "
                   "a step has " +
                   std::to_string(u64(double(facts.launches.works) / double(facts.windows.steps.size()))) +
                   " launches.",
               after_gaps(*facts.gpu, costs)};
}

// Saves at most the calls that launch them, as far as no kernel runs meanwhile.
std::optional<Match> tiny_kernels(const Facts& facts) {
  const Launches& l = facts.launches;
  if (!facts.gpu || facts.captures || 2 * l.shorter_than_launch <= l.works) return {};
  Heaviest costly(Evidence::Of::work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (!work.runs_on_gpu() || work.call == kNone || !facts.inside(work.begin_ns)) continue;
    i64 launch = facts.model.calls[work.call].dur_ns - facts.waits.ns(work.call);
    if (facts.model.calls[work.call].works > 1 || launch <= work.dur_ns || launch > kFirstLaunchNs) continue;
    cost.call(work.call);
    costly.add(launch - work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share,
               share,
               facts.windows.per_step(cost.ns()),
               std::to_string(l.shorter_than_launch) + " of " + std::to_string(l.works) +
                   " kernels and copies are shorter than the call that launched them.",
               costly.take(),
               replay_fix(facts, "Fuse them with torch.compile, or bring them into the graph.")};
}

std::optional<Match> synchronisation(const Facts& facts) {
  if (!facts.gpu) return {};
  HostTime after = behind_sync(*facts.gpu);
  i64 ns = in_steps(facts,
                    after.running + after.launching + facts.gpu->after_sync[static_cast<u32>(Activity::synchronising)]);
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
  i64 from = facts.windows.steps[1].begin;
  u64 count = 0;
  Heaviest calls(Evidence::Of::call);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.calls.size(); i++) {
    const CallEvent& call = facts.model.calls[i];
    if (call.begin_ns < from || !facts.inside(call.begin_ns) || !facts.words.is(call, Word::allocates)) continue;
    cost.call(i);
    count++;
    calls.add(call.dur_ns, i);
  }
  if (!count) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(count) + " calls behind the first step allocate or free memory through the driver; for " +
                   ms(facts.windows.per_step(cost.ns())) + " per step no kernel runs meanwhile.",
               calls.take()};
}

// Gaps that matter: at least 1 ms or 2 % of a step, and more than one. What they wait for is not in the trace, so
// nobody knows whether it can go. Not beside what a graph launched: CUPTI does not record all kernels of all graphs.
std::optional<Match> stream_gaps(const Facts& facts) {
  if (!facts.gpu) return {};
  double least = std::max(1e6, 0.02 * facts.step_ns());
  auto of_graph = [&](const GpuEvent& work) {
    return work.call != kNone && facts.words.is(facts.model.calls[work.call], Word::replays);
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
  auto is_it = [&](const GpuEvent& w) { return w.kind() == Kind::copy && copy_kind_of(w) == kind; };
  double alone = double(works_alone(facts, is_it)), share = facts.share(alone);
  return Match{share, share, facts.windows.per_step(alone),
               std::string("Copies from ") + copy_kind_text(kind) + " take " + ms(facts.windows.per_step(worst)) +
                   " per step, " + ms(facts.windows.per_step(alone)) + " of it while no kernel runs.",
               longest_works(facts, is_it)};
}

// From pinned memory a copy is about twice as fast, and does not hold up its caller: half of the time is saved. Small
// ones are staged by the driver, which holds nobody up (Nsight Systems' expert rule exempts them as well).
std::optional<Match> pageable_copies(const Facts& facts) {
  auto is_it = [](const GpuEvent& w) {
    return w.kind() == Kind::copy && host_memory_of(w) == HostMemory::pageable &&
           w.as<CopyInfo>().bytes > kStagedBytes;
  };
  i64 ns = 0;
  u64 bytes = 0, to_host = 0;
  for (const GpuEvent& work : facts.model.gpu) {
    if (!is_it(work) || !facts.inside(work.begin_ns)) continue;
    ns += work.dur_ns;
    bytes += work.as<CopyInfo>().bytes;
    if (copy_kind_of(work) == CopyKind::to_host) to_host += work.as<CopyInfo>().bytes;
  }
  if (!ns) return {};
  double alone = double(works_alone(facts, is_it)), share = facts.share(alone);
  return Match{share,
               share,
               facts.windows.per_step(alone) / 2,
               mib(facts.windows.per_step(double(bytes))) + " per step go through pageable host memory, at " +
                   std::to_string(double(bytes) / double(ns)).substr(0, 4) + " GB/s.",
               longest_works(facts, is_it),
               2 * to_host > bytes ? "Copy results into pinned memory with non_blocking=True, and wait once." : ""};
}

// Saves what they and their calls take while no kernel runs, but not what a call waits for the work before its copy.
// How many are many: TraceLens. Without steps nobody knows how many a step has.
std::optional<Match> many_copies(const Facts& facts) {
  if (!facts.windows.has_steps) return {};
  u64 count = 0;
  Cost cost(facts);
  auto is_it = [](const GpuEvent& w) {
    return w.kind() == Kind::copy && (copy_kind_of(w) == CopyKind::to_device || copy_kind_of(w) == CopyKind::to_host) &&
           w.as<CopyInfo>().bytes < kBatchBytes;
  };
  for (const GpuEvent& work : facts.model.gpu) {
    if (!is_it(work) || !facts.inside(work.begin_ns)) continue;
    count++;
    cost.time(work.begin_ns, work.end_ns());
    if (work.call != kNone) cost.call(work.call);
  }
  if (facts.windows.per_step(double(count)) <= kManyCopies) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(u64(facts.windows.per_step(double(count)))) +
                   " small copies per step cross between host and GPU; they and their calls take " +
                   ms(facts.windows.per_step(cost.ns())) + " while no kernel runs.",
               longest_works(facts, is_it)};
}

}  // namespace tprof::rules
