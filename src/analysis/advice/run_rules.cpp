// Rules of advice about memory, the way a job is set up, and the recording itself.
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "analysis/advice/loader_starts.h"
#include "analysis/advice/rule.h"
#include "analysis/tables/operators.h"
#include "model/communication.h"

namespace tprof::rules {
namespace {

// The memory with the largest value, and that value; nullptr if none has one above 0.
template <class Value>
std::pair<const MemoryPeak*, double> worst(const Facts& facts, Value value) {
  std::pair<const MemoryPeak*, double> out{nullptr, 0};
  for (const MemoryPeak& peak : facts.memory)
    if (double x = value(peak); x > out.second) out = {&peak, x};
  return out;
}

// The GPU's total memory, 0 where it is not known. It is never known for a CPU.
u64 memory_of(const Facts& facts, const MemoryPeak& peak) {
  auto device = facts.model.devices.find(u32(peak.device_index));
  return !is_gpu_memory(peak.device_type) || device == facts.model.devices.end() ? 0 : device->second.total_memory;
}

std::string device_name(const MemoryPeak& peak) {
  if (peak.device_type == 0) return "the CPU";
  return device_type_text(peak.device_type) + " " + std::to_string(peak.device_index);
}

std::vector<Evidence> owners(const std::vector<Owner>& list) {
  std::vector<Evidence> out;
  for (const Owner& owner : list)
    if (owner.op >= 0 && out.size() < kMaxEvidence) out.push_back({Evidence::Kind::range, u32(owner.op)});
  return out;
}

std::string largest(const Facts& facts, const std::vector<Owner>& list) {
  if (list.empty() || list[0].name == kNone) return "";
  return "; most of it, " + mib(double(list[0].bytes)) + ", was allocated in \"" + facts.model.names[list[0].name] +
         '"';
}

std::vector<Evidence> step_named(const Facts& facts, u32 index) {
  std::vector<Evidence> out;
  for (const Step& step : facts.model.steps)
    if (std::to_string(step.number) == facts.windows.names[index]) out.push_back({Evidence::Kind::range, step.event});
  return out;
}

constexpr double kWarmUp = 1.5;     // WU1's threshold, by which the first step is longer than a usual one
constexpr double kStillWarm = 1.2;  // the same for the steps after it

i64 usual_step_ns(const Facts& facts) {
  std::vector<i64> others;
  for (size_t s = 1; s < facts.windows.steps.size(); s++) others.push_back(facts.windows.steps[s].length());
  return median_of(others);
}

// How many steps at the start are longer than the usual one because they do something for the first time. At least two
// steps remain.
u32 warm_up_steps(const Facts& facts) {
  const std::vector<Interval>& steps = facts.windows.steps;
  double usual = double(usual_step_ns(facts));
  if (steps.size() < 3 || double(steps[0].length()) <= kWarmUp * usual) return 0;
  u32 n = 1;
  while (n + 2 < steps.size() && double(steps[n].length()) > kStillWarm * usual) n++;
  return n;
}

}  // namespace

// Silent for inference servers, which take most of the memory on purpose before the recording starts.
std::optional<Match> memory_limit(const Facts& facts) {
  auto [peak, share] = worst(facts, [&](const MemoryPeak& p) {
    u64 all = memory_of(facts, p);
    if (!facts.trains && double(p.unseen_bytes) > 0.9 * double(p.peak_bytes)) return 0.0;
    return all ? double(p.peak_bytes) / double(all) : 0.0;
  });
  if (!peak) return {};
  return Match{share,
               -1,
               -1,
               device_name(*peak) + " holds " + mib(double(peak->peak_bytes)) + " at the peak, " + share_text(share) +
                   " of its memory" + largest(facts, peak->owners) + ".",
               owners(peak->owners),
               facts.trains ? "" : "A smaller batch, half precision, or the model on several GPUs."};
}

// Needs the allocator's totals: without them, blocks allocated before the recording distort the sums.
std::optional<Match> memory_grows(const Facts& facts) {
  auto [peak, share] = worst(facts, [](const MemoryPeak& p) {
    return p.grows && p.totals_known && p.peak_bytes ? double(p.growth_bytes) / double(p.peak_bytes) : 0.0;
  });
  if (!peak) return {};
  return Match{share, -1, -1,
               "At the end of each step " + mib(double(peak->growth_bytes)) + " more is allocated on " +
                   device_name(*peak) + largest(facts, peak->kept) + ".",
               owners(peak->kept)};
}

// Memory that is reserved and unused is normal for a caching allocator, but at the peak it is memory that a larger
// batch lacks. It matters only where memory is scarce.
std::optional<Match> memory_unused(const Facts& facts) {
  auto [peak, share] = worst(facts, [&](const MemoryPeak& p) {
    u64 all = memory_of(facts, p);
    return all && 2 * p.peak_reserved_bytes >= all ? double(p.unused_at_peak_bytes) / double(all) : 0.0;
  });
  if (!peak) return {};
  return Match{share, -1, -1,
               "When " + device_name(*peak) + " needs most memory, " + mib(double(peak->peak_bytes)) +
                   ", its allocator holds another " + mib(double(peak->unused_at_peak_bytes)) + " that nothing uses, " +
                   share_text(share) + " of the device's memory."};
}

std::optional<Match> data_parallel(const Facts& facts) {
  std::set<u32> devices;
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu()) devices.insert(work.device);
  if (!facts.classes.any(NameClass::data_parallel) || devices.size() < 2) return {};
  return Match{1, -1, -1, "One process drives " + std::to_string(devices.size()) + " GPUs through DataParallel.",
               longest_ranges(facts, Where::trace, NameClass::data_parallel)};
}

// NCCL needs compute capability 3.5.
std::optional<Match> ddp_without_nccl(const Facts& facts) {
  if (!facts.classes.any(NameClass::distributed_data_parallel) || facts.classes.any(NameClass::nccl_op)) return {};
  bool able = false;
  for (const auto& [number, d] : facts.model.devices) able |= d.compute_major * 10 + d.compute_minor >= 35;
  bool exchanges = std::ranges::any_of(facts.model.names, is_backend_label);
  if (!able || !facts.gpu || !exchanges) return {};  // without either, NCCL would have nothing to do
  return Match{1, -1, -1, "Gradients are exchanged, but no NCCL operation was seen.",
               longest_ranges(facts, Where::trace, NameClass::distributed_data_parallel)};
}

// Steps with and without an update by the optimizer (gradients are accumulated) do different things, so each step is
// compared with steps of its kind. Left out are warm-up steps at the start (reported by WU1), steps in which a loader
// starts its processes (DL3), and the first and last recorded step, in which a profiler starts or stops and GPU work of
// an earlier step may run. A step in which every category grew a little, or a machine that others use, does not point
// to a problem in the program.
std::optional<Match> uneven_steps(const Facts& facts) {
  if (!facts.windows.has_steps || facts.on_busy_machine()) return {};
  std::vector<bool> starts = steps_with_loader_start(facts);
  std::vector<bool> updates(facts.windows.steps.size());
  for (const Event& e : facts.model.events)
    if (facts.classes.is(e, NameClass::optimizer_step))
      if (int step = facts.windows.step_at(e.begin_ns); step >= 0) updates[size_t(step)] = true;
  Variability worst;
  double value = 0, lost_ns = 0;
  for (bool with_update : {false, true}) {
    std::vector<u32> same_kind;
    for (u32 s = std::max(1u, warm_up_steps(facts)); s + 1 < updates.size(); s++)
      if (updates[s] == with_update && !starts[s]) same_kind.push_back(s);
    Variability v = variability(facts.overview, same_kind);
    if (!v.known || v.median_ns <= 0 || 2 * v.grew_ns < v.slowest_ns - v.median_ns) continue;
    lost_ns += double(std::max<i64>(0, v.mean_ns - v.median_ns)) * double(same_kind.size());
    double ratio = double(v.slowest_ns) / double(v.median_ns);
    if (ratio > value) value = ratio, worst = v;
  }
  if (!worst.known) return {};
  const Variability& v = worst;
  return Match{value, facts.share(lost_ns), facts.windows.per_step(lost_ns),
               "Step " + facts.windows.names[v.slowest] + " took " + ms(double(v.slowest_ns)) + ", the median is " +
                   ms(double(v.median_ns)) + "; " + category_text(v.grew) + " grew by " + ms(double(v.grew_ns)) + ".",
               step_named(facts, v.slowest)};
}

std::optional<Match> warm_up_recorded(const Facts& facts) {
  if (!facts.windows.has_steps || facts.windows.steps.size() < 3) return {};
  double first = double(facts.windows.steps[0].length()), usual = double(usual_step_ns(facts));
  if (usual <= 0) return {};
  u32 warm_up = warm_up_steps(facts);
  std::string from = facts.windows.names[warm_up];
  std::string end = std::to_string(atoll(facts.windows.names.back().c_str()) + 1);
  std::string fix = "Look at the steps after it only: tprof run --steps " + from + ":" + end +
                    ", or with torch.profiler schedule(skip_first=" + from + ", ...).";
  // If the host's range of the first step is not longer than the next one's, the GPU caused the rest of its time.
  auto range = [&](u32 s) {
    return step_named(facts, s).empty() ? 0 : facts.model.events[step_named(facts, s)[0].index].dur_ns;
  };
  bool backlog = facts.gpu && range(0) > 0 && double(range(0)) < kWarmUp * double(range(1));
  return Match{first / usual,
               -1,
               -1,
               "The first recorded step took " + ms(first) + ", the others about " + ms(usual) +
                   (backlog ? ", because the GPU still runs what was launched before it" : "") +
                   ": averages are too high.",
               step_named(facts, 0),
               warm_up ? fix : ""};
}

// Launches that take a thousand times as long as usual while no kernel runs: the driver loads code.
std::optional<Match> first_launches(const Facts& facts) {
  if (!facts.gpu) return {};  // CUPTI's range profiler collects counters, which makes each launch slow
  Heaviest calls(Evidence::Kind::call);
  Cost cost(facts);
  u64 count = 0;
  for (u32 i = 0; i < facts.model.calls.size(); i++) {
    const CallEvent& call = facts.model.calls[i];
    if (!facts.classes.is(call, NameClass::launches) || facts.classes.is(call, NameClass::replays) ||
        call.dur_ns - facts.waits.ns(i) <= kFirstLaunchNs || !facts.inside(call.begin_ns))
      continue;
    count++;
    cost.call(i);
    calls.add(call.dur_ns, i);
  }
  if (!count) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(count) +
                   (count == 1 ? " launch took more than 1 ms, " : " launches took more than 1 ms each, ") +
                   ms(facts.windows.per_step(cost.ns())) +
                   " of a step: most likely the driver loaded their kernels first.",
               calls.take()};
}

std::optional<Match> own_cost(const Facts& facts) {
  double ns = double(facts.overview.own.cupti_ns);
  if (ns < 0) return {};
  return Match{facts.share(ns), facts.share(ns), -1,
               "CUPTI's own work took " + ms(facts.windows.per_step(ns)) + " per step."};
}

}  // namespace tprof::rules
