// Rules of advice about what the host does while the GPU, or the rest of the step, waits for it.
#include "analysis/advice/idle_time.h"
#include "analysis/advice/rule.h"

namespace tprof::rules {
namespace {

std::string quoted(const Facts& facts, const HostReason& reason) {
  return reason.name == kNone ? activity_text(reason.activity) : '"' + facts.model.names[reason.name] + '"';
}

// Where graphs launch most of the GPU's work already, advising to capture a graph is pointless: `fix` replaces it.
std::string replay_fix(const Facts& facts, const char* fix) { return facts.replays_graphs ? fix : ""; }

// A Python call, but not the call of an nn.Module, which names no source line.
bool is_function(const Event& e) { return (e.flags & kEventPython) && e.python && e.python->module == kNone; }

// How the user finds out which lines of Python take the time.
std::string lines_hint(const Facts& facts) {
  if (facts.model.stacks.size() > 1) return "";
  return "; --sample=python shows which lines of Python it is, --with-stack shows the lines around it, "
         "--with-stack=calls its functions";
}

std::string spot_text(const PythonSpot& spot) { return share_text(spot.share()) + " of it in " + spot.text(); }

std::string spot_or_hint(const Facts& facts) {
  std::optional<PythonSpot> spot = python_spot(facts.model, other_time(facts.model, facts.classes, facts.windows));
  return spot ? "; of what no operator or call does, " + spot_text(*spot) : lines_hint(facts);
}

}  // namespace

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
           (longest->activity == Activity::between ? spot_or_hint(facts) : "");
  return Match{share,
               share,
               facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) +
                   " of a step the GPU has nothing to do because Python and "
                   "operators on the CPU have not reached the next launch" +
                   most + ".",
               after_gaps(*facts.gpu,
                          [](const Gap& gap) {
                            bool runs = gap.most == Activity::operating || gap.most == Activity::between;
                            return runs && !gap.edge && gap.sync == kNone;
                          }),
               replay_fix(facts, "Do less in Python between two replays, and prepare the next one while one runs.")};
}

// The time in which no thread does anything that is recorded, except labels and Python. Silent if HB1 reports that the
// GPU waits for the same code. Time before the host's first recorded event and after its last one does not count: what
// the host does there is not known. Nor is there anything to move out of a step where there are no steps, as in the
// parent of processes that train.
std::optional<Match> python_bound(const Facts& facts) {
  if (facts.lacks_backward || facts.captures || !facts.windows.has_steps) return {};
  const Model& model = facts.model;
  std::vector<Interval> busy;
  auto add = [&](const auto& x) { busy.push_back({x.begin_ns, x.end_ns()}); };
  i64 first = INT64_MAX, last = INT64_MIN;
  auto host = [&](const auto& x) {
    first = std::min(first, x.begin_ns);
    last = std::max(last, x.end_ns());
  };
  std::vector<bool> profiles(model.events.size());  // a profiler that starts or stops, or an event inside one
  for (size_t i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    profiles[i] = facts.classes.is(e, NameClass::profiler_frame) || (e.parent >= 0 && profiles[size_t(e.parent)]);
    if (profiles[i]) {
      add(e);
      continue;
    }
    if (is_operator(e) || facts.classes.is(e, NameClass::data_loading)) add(e), host(e);
    if (facts.classes.is(e, NameClass::communication_op)) add(e);  // it has a thread of its own, for which others wait
    if (!is_function(e)) continue;
    first = std::min(first, e.begin_ns);  // not its end, which may be the end of the recording
    last = std::max(last, e.begin_ns);
  }
  for (const CallEvent& call : model.calls) host(call);
  for (const CallEvent& call : model.calls) add(call);
  for (const GpuEvent& work : model.gpu)
    if (work.runs_on_gpu()) add(work);
  if (std::none_of(model.events.begin(), model.events.end(), is_operator)) return {};  // the host was not recorded
  IntervalSet none = (IntervalSet(facts.windows.steps) & IntervalSet(first, last)) - IntervalSet(std::move(busy));
  // Other programs are assumed to take the same share of the CPU here as elsewhere.
  double ns = double(none.length()) * (1 - std::clamp(facts.waited, 0.0, 1.0));
  double share = facts.share(ns);
  if (facts.gpu && double(waits_for_code(facts)) >= 0.5 * double(none.length())) return {};
  // If Python calls were recorded: the self time of each call within this time.
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
  std::optional<PythonSpot> spot = python_spot(model, none);
  Heaviest after(Evidence::Kind::range);
  size_t next = 0;
  for (const Interval& hole : none.intervals()) {
    while (next < model.events.size() && (model.events[next].thread != main || !is_operator(model.events[next]) ||
                                          model.events[next].begin_ns < hole.end))
      next++;
    if (next < model.events.size()) after.add(hole.length(), u32(next));
  }
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) + " of a step (" + share_text(share) +
                   ") no operator, CUDA call or DataLoader runs: it is Python, or other code, between them" +
                   (spot            ? "; " + spot_text(*spot)
                    : most == kNone ? lines_hint(facts)
                                    : "; most of it in \"" + model.names[most] + '"') +
                   ".",
               after.take()};
}

// Graph launches do not count: they take long because they launch much. Nor do launches above kFirstLaunchNs, which
// loaded the kernel first or waited for a full queue.
std::optional<Match> launch_bound(const Facts& facts) {
  if (!facts.gpu || facts.captures) return {};
  auto costs = [&](const Gap& gap) {
    if (gap.cause != IdleCause::host_wait || gap.edge || gap.next == kNone) return false;
    const CallEvent& call = facts.model.calls[facts.model.gpu[gap.next].call];
    return !facts.classes.is(call, NameClass::replays) && call.dur_ns <= kFirstLaunchNs;
  };
  Cost cost(facts);
  for (const Gap& gap : facts.gpu->gaps)
    if (costs(gap) && gap.sync == kNone) cost.time(gap.begin_ns + gap.host_ns, gap.end_ns);
  i64 ns = cost.ns();
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns),
               "For " + ms(facts.windows.per_step(ns)) +
                   " of a step the GPU waits for a launch in progress; a step has " +
                   std::to_string(u64(double(facts.launches.activities) / double(facts.windows.steps.size()))) +
                   " launches.",
               after_gaps(*facts.gpu, costs)};
}

// The saving is at most the time of the launching calls during which no kernel runs.
std::optional<Match> tiny_kernels(const Facts& facts) {
  const Launches& l = facts.launches;
  if (!facts.gpu || facts.captures || 2 * l.shorter_than_launch <= l.activities) return {};
  Heaviest costly(Evidence::Kind::gpu_work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (!work.runs_on_gpu() || work.call == kNone || !facts.inside(work.begin_ns)) continue;
    i64 launch = facts.model.calls[work.call].dur_ns - facts.waits.ns(work.call);
    if (facts.model.calls[work.call].activities > 1 || launch <= work.dur_ns || launch > kFirstLaunchNs) continue;
    cost.call(work.call);
    costly.add(launch - work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share,
               share,
               facts.windows.per_step(cost.ns()),
               std::to_string(l.shorter_than_launch) + " of " + std::to_string(l.activities) +
                   " kernels and copies are shorter than the call that launched them.",
               costly.take(),
               replay_fix(facts, "Fuse them with torch.compile, or bring them into the graph.")};
}

// Allocation in the first step is normal, so a trace with one step shows nothing.
std::optional<Match> allocation(const Facts& facts) {
  if (!facts.windows.has_steps || facts.windows.steps.size() < 2) return {};
  i64 from = facts.windows.steps[1].begin;
  u64 count = 0;
  Heaviest calls(Evidence::Kind::call);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.calls.size(); i++) {
    const CallEvent& call = facts.model.calls[i];
    if (call.begin_ns < from || !facts.inside(call.begin_ns) || !facts.classes.is(call, NameClass::allocates) ||
        facts.classes.is(call, NameClass::allocates_on_host))
      continue;
    cost.call(i);
    count++;
    calls.add(call.dur_ns, i);
  }
  if (!count) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(count) + " calls after the first step allocate or free memory through the driver; for " +
                   ms(facts.windows.per_step(cost.ns())) + " per step no kernel runs meanwhile.",
               calls.take()};
}

}  // namespace tprof::rules
