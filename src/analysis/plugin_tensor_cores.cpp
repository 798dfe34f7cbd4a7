#include "analysis/plugin_tensor_cores.h"

#include "analysis/op_tree.h"
#include "analysis/tensor_cores.h"

namespace tprof {
namespace {

// By node: it is eligible and nothing inside it is.
std::vector<bool> innermost_eligible(const OpTree& tree) {
  std::vector<bool> holds(tree.nodes.size()), out(tree.nodes.size());
  for (const OpNode& node : tree.nodes)
    for (i32 up = node.eligible ? node.parent : -1; up >= 0 && !holds[size_t(up)]; up = tree.nodes[size_t(up)].parent)
      holds[size_t(up)] = true;
  for (size_t i = 0; i < out.size(); i++) out[i] = tree.nodes[i].eligible && !holds[i];
  return out;
}

}  // namespace

PluginTensorCores plugin_tensor_cores(const Model& model, const PluginTrace& trace) {
  PluginTensorCores out;
  TensorCoreNames names(model, Rules::plugin);
  OpTree tree = build_plugin_tree(model, trace);
  std::vector<bool> innermost = innermost_eligible(tree);
  std::map<u32, std::pair<double, double>> devices;  // on tensor cores, all
  double all = 0, on_tensor_cores = 0, by_operators = 0, eligible = 0;
  for (const PluginEvent& e : trace.events) {
    if (e.type != PluginType::kernel) continue;
    bool uses = names.kernel(e.name);
    all += e.dur_us;
    if (uses) on_tensor_cores += e.dur_us;
    i32 node = tree.of_gpu[e.item];
    if (node < 0) continue;
    if (innermost[size_t(node)]) eligible += e.dur_us;
    if (!tree.nodes[size_t(node)].listed) continue;
    by_operators += e.dur_us;
    auto& [used, total] = devices[e.device];
    total += e.dur_us;
    if (uses) used += e.dur_us;
  }
  for (const auto& [device, times] : devices) out.of_device[device] = times.second > 0 ? times.first / times.second : 0;
  if (all > 0) out.of_kernels = on_tensor_cores / all;
  if (by_operators > 0) out.eligible = eligible / by_operators;
  return out;
}

}  // namespace tprof
