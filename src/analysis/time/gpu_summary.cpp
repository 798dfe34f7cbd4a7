#include "analysis/time/gpu_summary.h"

#include <algorithm>
#include <map>

#include "analysis/basis/tensor_cores.h"

namespace tprof {
namespace {

// A kernel starts or ends: its blocks per SM are added or removed.
struct Edge {
  i64 ns;
  double blocks;
};

// Integral of min(sum of blocks, 1) over the time, in ns.
double filled(std::vector<Edge> edges, const IntervalSet& time) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
  double sum = 0, blocks = 0;
  i64 at = 0;
  for (const Edge& edge : edges) {
    if (edge.ns > at) sum += double(time.length_in(at, edge.ns)) * std::clamp(blocks, 0.0, 1.0);
    blocks += edge.blocks;
    at = edge.ns;
  }
  return sum;
}

struct Sums {
  std::vector<Interval> busy;
  std::vector<Edge> edges;
  double weighted = 0, weight = 0;  // occupancy times ns, ns
  // Kernel time inside the steps: all, on tensor cores, and where the name does not show whether it is.
  double kernel_ns = 0, tensor_ns = 0, untold_ns = 0;
  u64 kernels = 0, without_blocks = 0;
};

void describe(const Model& model, GpuFigures& g) {
  auto it = model.devices.find(g.device);
  if (it == model.devices.end()) return;
  const DeviceInfo& d = it->second;
  g.name = d.name;
  if (d.total_memory) g.memory_bytes = double(d.total_memory);
  if (!d.compute_major) return;
  g.compute_major = d.compute_major;
  g.compute_minor = d.compute_minor;
}

}  // namespace

std::vector<GpuFigures> gpu_figures(const Model& model, const Windows& windows, std::vector<std::string>& notes) {
  std::map<u32, Sums> devices;
  TensorCoreNames tensor_cores(model, RuleSet::tprof);
  for (const GpuEvent& e : model.gpu) {
    if ((e.kind() != Kind::kernel && e.kind() != Kind::graph) || e.device == kNone) continue;
    Sums& s = devices[e.device];
    s.kernels++;
    s.busy.push_back({e.begin_ns, e.end_ns()});
    if (e.blocks_per_sm > 0) {
      s.edges.push_back({e.begin_ns, e.blocks_per_sm});
      s.edges.push_back({e.end_ns(), -double(e.blocks_per_sm)});
    } else {
      s.without_blocks++;
    }
    auto inside = double(windows.time.length_in(e.begin_ns, e.end_ns()));
    s.kernel_ns += inside;
    switch (tensor_cores.answer(e.name)) {
      case TensorCoreUse::yes: s.tensor_ns += inside; break;
      case TensorCoreUse::unknown: s.untold_ns += inside; break;
      case TensorCoreUse::no: break;
    }
    if (e.occupancy < 0) continue;
    s.weighted += inside * e.occupancy;
    s.weight += inside;
  }
  std::vector<GpuFigures> out;
  auto length = double(windows.time.length());
  for (auto& [device, s] : devices) {
    GpuFigures g;
    g.device = device;
    describe(model, g);
    if (length > 0) g.utilization = double((IntervalSet(std::move(s.busy)) & windows.time).length()) / length;
    if (length > 0 && !s.edges.empty()) g.sm_efficiency = filled(std::move(s.edges), windows.time) / length;
    if (s.weight > 0) g.occupancy = s.weighted / s.weight;
    if (s.kernel_ns > 0) {
      g.tensor_cores_unknown = s.untold_ns / s.kernel_ns;
      if (s.untold_ns < s.kernel_ns) g.tensor_cores = s.tensor_ns / s.kernel_ns;
    }
    std::string gpu = "GPU " + std::to_string(device);
    if (s.without_blocks && s.without_blocks == s.kernels)
      notes.push_back(gpu + ": no kernel states its blocks per SM; SM efficiency and occupancy are not known");
    else if (s.without_blocks)
      notes.push_back(gpu + ": " + std::to_string(s.without_blocks) + " of " + std::to_string(s.kernels) +
                      " kernels do not state their blocks per SM; SM efficiency and occupancy are those of the others");
    if (!model.devices.count(device))
      notes.push_back(gpu + ": its properties are not in the trace");
    else if (g.name.empty())
      notes.push_back(gpu + ": its name is not in the trace");
    out.push_back(g);
  }
  return out;
}

}  // namespace tprof
