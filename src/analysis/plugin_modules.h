// nn.Modules as torch_tb_profiler's Module view shows them.
//
// Its hierarchy is that of the Python calls, by their ids alone; each different one is shown once. Its figures are
// those of all calls of a module, wherever it stands.
#pragma once
#include "analysis/op_tree.h"

namespace tprof {

struct PluginModule {
  std::string name;  // "Linear_0"
  u32 depth = 0;
  u64 occurrences = 0, operators = 0;  // operators: directly in it
  i64 host_total_ns = 0, host_self_ns = 0, device_total_ns = 0, device_self_ns = 0;

  // The plugin's avg_duration: on the device, if it did anything there.
  double mean_ns() const {
    return occurrences ? double(device_total_ns > 0 ? device_total_ns : host_total_ns) / double(occurrences) : 0;
  }
};

// A parent before its children. `tree`: build_plugin_tree() of the same.
std::vector<PluginModule> plugin_modules(const Model& model, const PluginTrace& trace, const OpTree& tree);

}  // namespace tprof
