// Rules of advice about memory, the way a job is set up, and the recording itself.
#include <set>

#include "analysis/advice_rules.h"
#include "analysis/operators.h"

namespace tprof::rules {
namespace {

// Of GPUs; the CPU's memory has no limit that is known.
template <class Value>
std::pair<const MemoryPeak*, double> worst(const Facts& facts, Value value) {
  std::pair<const MemoryPeak*, double> out{nullptr, 0};
  for (const MemoryPeak& peak : facts.memory)
    if (double x = value(peak); x > out.second) out = {&peak, x};
  return out;
}

std::string device_name(const MemoryPeak& peak) {
  if (peak.device_type == 0) return "the CPU";
  return device_type_text(peak.device_type) + " " + std::to_string(peak.device_index);
}

std::vector<Evidence> owners(const std::vector<Owner>& list) {
  std::vector<Evidence> out;
  for (const Owner& owner : list)
    if (owner.op >= 0 && out.size() < kMostEvidence) out.push_back({Evidence::Of::range, u32(owner.op)});
  return out;
}

std::string largest(const Facts& facts, const std::vector<Owner>& list) {
  if (list.empty() || list[0].name == kNone) return "";
  return "; most of it, " + mib(double(list[0].bytes)) + ", was allocated in \"" + facts.model.names[list[0].name] +
         '"';
}

std::vector<Evidence> some_ranges(const Facts& facts, Word word) {
  Heaviest heaviest(Evidence::Of::range);
  for (u32 i = 0; i < facts.model.events.size(); i++)
    if (facts.words.is(facts.model.events[i], word)) heaviest.add(facts.model.events[i].dur_ns, i);
  return heaviest.take();
}

}  // namespace

std::optional<Match> memory_limit(const Facts& facts) {
  auto [peak, share] = worst(facts, [&](const MemoryPeak& p) {
    auto device = facts.model.devices.find(u32(p.device_index));
    if (!is_gpu_memory(p.device_type) || device == facts.model.devices.end() || !device->second.total_memory)
      return 0.0;
    return double(p.peak_bytes) / double(device->second.total_memory);
  });
  if (!peak) return {};
  return Match{share, -1, -1,
               device_name(*peak) + " holds " + mib(double(peak->peak_bytes)) + " at the peak, " + percent(share) +
                   " of its memory" + largest(facts, peak->owners) + ".",
               owners(peak->owners)};
}

// Where the allocator does not state its totals, blocks from before the recording make them drift: no leak can be told.
std::optional<Match> memory_grows(const Facts& facts) {
  auto [peak, share] = worst(facts, [](const MemoryPeak& p) {
    return p.grows && p.totals_known && p.peak_bytes ? double(p.growth_bytes) / double(p.peak_bytes) : 0.0;
  });
  if (!peak) return {};
  return Match{share, -1, -1,
               "At each step's end " + mib(double(peak->growth_bytes)) + " more are allocated on " +
                   device_name(*peak) + largest(facts, peak->kept) + ".",
               owners(peak->kept)};
}

std::optional<Match> memory_unused(const Facts& facts) {
  auto [peak, share] = worst(facts, [](const MemoryPeak& p) {
    return p.peak_reserved_bytes ? double(p.unused_bytes) / double(p.peak_reserved_bytes) : 0.0;
  });
  if (!peak) return {};
  return Match{share, -1, -1,
               "The allocator of " + device_name(*peak) + " holds up to " + mib(double(peak->unused_bytes)) +
                   " that nothing uses, of " + mib(double(peak->peak_reserved_bytes)) + "."};
}

std::optional<Match> data_parallel(const Facts& facts) {
  std::set<u32> devices;
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu()) devices.insert(work.device);
  if (!facts.words.any(Word::data_parallel) || devices.size() < 2) return {};
  return Match{1, -1, -1, "One process drives " + std::to_string(devices.size()) + " GPUs through DataParallel.",
               some_ranges(facts, Word::data_parallel)};
}

// NCCL needs compute capability 3.5.
std::optional<Match> ddp_without_nccl(const Facts& facts) {
  if (!facts.words.any(Word::distributed_data_parallel) || facts.words.any(Word::nccl_op)) return {};
  bool able = false;
  for (const auto& [number, d] : facts.model.devices) able |= d.compute_major * 10 + d.compute_minor >= 35;
  if (!able) return {};
  return Match{1, -1, -1, "Gradients are exchanged, but no NCCL operation was seen.",
               some_ranges(facts, Word::distributed_data_parallel)};
}

std::optional<Match> uneven_steps(const Facts& facts) {
  const Variability& v = facts.variability;
  if (!v.known || v.median_ns <= 0) return {};
  std::vector<Evidence> evidence;
  for (const Step& step : facts.model.steps)
    if (std::to_string(step.number) == facts.windows.names[v.slowest])
      evidence.push_back({Evidence::Of::range, step.event});
  return Match{double(v.slowest_ns) / double(v.median_ns), -1, double(std::max<i64>(0, v.mean_ns - v.median_ns)),
               "Step " + facts.windows.names[v.slowest] + " took " + ms(double(v.slowest_ns)) + ", the median is " +
                   ms(double(v.median_ns)) + "; " + category_text(v.grew) + " grew by " + ms(double(v.grew_ns)) + ".",
               evidence};
}

std::optional<Match> warm_up_recorded(const Facts& facts) {
  if (!facts.windows.has_steps || facts.windows.steps.size() < 3) return {};
  std::vector<i64> others;
  for (size_t s = 1; s < facts.windows.steps.size(); s++) others.push_back(facts.windows.steps[s].length());
  i64 first = facts.windows.steps[0].length(), usual = median_of(others);
  if (usual <= 0) return {};
  return Match{double(first) / double(usual),
               -1,
               -1,
               "The first recorded step took " + ms(double(first)) + ", the others about " + ms(double(usual)) +
                   ": averages are too high.",
               {{Evidence::Of::range, facts.model.steps[0].event}}};
}

std::optional<Match> own_cost(const Facts& facts) {
  double ns = double(facts.overview.own.cupti_ns);
  if (ns < 0) return {};
  return Match{facts.share(ns), facts.share(ns), -1,
               "CUPTI's own work took " + ms(facts.windows.per_step(ns)) + " per step."};
}

}  // namespace tprof::rules
