#include "plugin_compat/gpus.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace tprof {
namespace {

constexpr u32 kMaxGpus = 64;
constexpr double kMaxStretches = 100;

using PluginKernels = std::vector<const PluginEvent*>;

std::map<u32, PluginKernels> kernels_by_device(const PluginTrace& trace) {
  std::map<u32, PluginKernels> out;
  for (const PluginEvent& e : trace.events) {
    if (e.type != PluginType::kernel || e.device == kNone) continue;
    if (e.device >= kMaxGpus)
      throw Error(Fault::unreadable, "the plugin drops the file: GPU " + std::to_string(e.device));
    out[e.device].push_back(&e);
  }
  return out;
}

PluginRanges busy_ranges(const PluginKernels& kernels) {
  PluginRanges busy;
  for (const PluginEvent* k : kernels) busy.push_back({k->ts_us, k->end_us()});
  return merged(std::move(busy));
}

std::vector<PluginGpuSeries::Stretch> filled_ranges(const Model& model, const PluginKernels& kernels) {
  struct Edge {
    double at;
    int end;
    double blocks;
  };
  std::vector<Edge> edges;
  for (const PluginEvent* k : kernels) {
    double blocks = model.gpu[k->item].blocks_per_sm;
    if (blocks <= 0) continue;
    edges.push_back({k->ts_us, 0, blocks});
    edges.push_back({k->end_us(), 1, blocks});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return std::pair(a.at, a.end) < std::pair(b.at, b.end); });
  std::vector<PluginGpuSeries::Stretch> out;
  double blocks = 0, at = edges.empty() ? 0 : edges[0].at;
  for (const Edge& edge : edges) {
    if (edge.at > at && blocks > 0) out.push_back({{at, edge.at}, std::min(blocks, 1.0)});
    blocks += edge.end ? -edge.blocks : edge.blocks;
    at = edge.at;
  }
  return out;
}

// Divided by the time of all steps; -1 if no kernel that states its blocks runs in them.
double mean_filled(const std::vector<PluginGpuSeries::Stretch>& ranges, PluginRange steps) {
  double sum = 0;
  for (const auto& [time, value] : ranges)
    sum += value * std::max(0.0, std::min(time.end, steps.end) - std::max(time.begin, steps.begin));
  return sum > 0 ? sum / (steps.end - steps.begin) : -1;
}

// Mean over the kernel time in the steps; -1 if no kernel states it.
double mean_occupancy(const Model& model, const PluginKernels& kernels, PluginRange steps) {
  double weighted = 0, weight = 0;
  for (const PluginEvent* k : kernels) {
    double inside = std::min(k->end_us(), steps.end) - std::max(k->ts_us, steps.begin);
    double occupancy = model.gpu[k->item].occupancy;
    if (occupancy < 0 || inside <= 0) continue;
    weighted += inside * occupancy;
    weight += inside;
  }
  return weight > 0 ? weighted / weight : -1;
}

}  // namespace

void describe_gpu(GpuFigures& gpu, const PluginDevice& device) {
  gpu.name = device.name.value_or("");
  gpu.name_is_empty = device.name == "";
  gpu.memory_bytes = double(device.memory_bytes.value_or(-1));
  gpu.compute_major = device.major.value_or(-1);
  gpu.compute_minor = device.minor.value_or(-1);
}

std::vector<GpuFigures> plugin_gpu_figures(const Model& model, const PluginTrace& trace, const PluginSteps& steps,
                                           const PluginTensorCores& tensor_cores) {
  std::vector<GpuFigures> out;
  PluginRange all = steps.from_first_to_last();
  for (const auto& [device, kernels] : kernels_by_device(trace)) {
    GpuFigures g;
    g.device = device;
    if (device < trace.devices.size()) describe_gpu(g, trace.devices[device]);
    g.utilization = length_of(common(busy_ranges(kernels), {all})) / (all.end - all.begin);
    g.sm_efficiency = mean_filled(filled_ranges(model, kernels), all);
    g.occupancy = mean_occupancy(model, kernels, all);
    auto share = tensor_cores.of_device.find(device);
    if (share != tensor_cores.of_device.end())
      g.tensor_cores = share->second;
    else if (!tensor_cores.of_device.empty())
      g.tensor_cores = 0;
    out.push_back(g);
  }
  return out;
}

std::vector<PluginGpuSeries> plugin_gpu_series(const Model& model, const PluginTrace& trace, const PluginSteps& steps) {
  auto [begin, end] = steps.span;
  double each = 1;
  while ((end - begin) / each > kMaxStretches) each *= 10;
  auto stretches = size_t(std::max(0.0, (end - begin) / each));
  std::vector<PluginGpuSeries> out;
  for (const auto& [device, kernels] : kernels_by_device(trace)) {
    PluginGpuSeries series{device, {}, filled_ranges(model, kernels)};
    PluginRanges edges;
    for (size_t i = 0; i < stretches; i++)
      edges.push_back({begin + double(i) * each, i + 1 < stretches ? begin + double(i + 1) * each : end});
    PluginRanges busy = busy_ranges(kernels);
    auto next = busy.begin();
    for (const PluginRange& edge : edges) {
      double sum = 0;
      while (next != busy.end() && next->end <= edge.begin) ++next;
      for (auto at = next; at != busy.end() && at->begin < edge.end; ++at)
        sum += std::min(at->end, edge.end) - std::max(at->begin, edge.begin);
      series.utilization.push_back({edge, sum / (edge.end - edge.begin)});
    }
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace tprof
