#include "plugin_compat/tensor_cores.h"

#include <unordered_map>

#include "analysis/basis/op_tree.h"
#include "analysis/basis/tensor_cores.h"
#include "plugin_compat/tree.h"

namespace tprof {
namespace {

// By node: whether it is eligible and no node inside it is.
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
  TensorCoreNames names(model, RuleSet::plugin);
  OpTree tree = build_plugin_tree(model, trace);
  std::vector<bool> innermost = innermost_eligible(tree);
  std::map<u32, std::pair<double, double>> devices;  // on tensor cores, all
  double all = 0, on_tensor_cores = 0, by_operators = 0, eligible = 0;
  std::unordered_map<u32, u32> device_of;  // by kernel, as its arguments say
  for (const PluginEvent& e : trace.events) {
    if (e.type != PluginType::kernel) continue;
    all += e.dur_us;
    if (names.kernel(e.name)) on_tensor_cores += e.dur_us;
    device_of[e.item] = e.device;
  }
  for (const OpTree::Launch& launch : tree.launches) {
    double us = double(launch.ns) / 1e3;
    if (innermost[size_t(launch.node)]) eligible += us;
    if (!tree.nodes[size_t(launch.node)].listed) continue;
    by_operators += us;
    auto& [used, total] = devices[device_of[launch.gpu]];
    total += us;
    if (names.kernel(model.gpu[launch.gpu].name)) used += us;
  }
  for (const auto& [device, times] : devices) out.of_device[device] = times.second > 0 ? times.first / times.second : 0;
  if (all > 0) out.of_kernels = on_tensor_cores / all;
  if (by_operators > 0) out.eligible = eligible / by_operators;
  return out;
}

}  // namespace tprof
