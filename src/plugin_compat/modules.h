// nn.Modules as torch_tb_profiler's Module view shows them, and its view of PyTorch Lightning's modules.
//
// The hierarchy of modules follows the Python calls, by their ids alone; each different module appears once.
// Lightning's hierarchy follows from the names: "encoder.linear" is part of "encoder". Figures sum up all calls of a
// module, whatever called it.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

struct PluginModule {
  std::string name;                    // "Linear_0"
  i32 parent = -1;                     // index into the list
  u64 occurrences = 0, operators = 0;  // operators: directly in it
  i64 host_total_ns = 0, host_self_ns = 0, device_total_ns = 0, device_self_ns = 0;

  // The plugin's avg_duration: device time if it has any, else host time.
  double mean_ns() const {
    return occurrences ? double(device_total_ns > 0 ? device_total_ns : host_total_ns) / double(occurrences) : 0;
  }
};

// Parents before their children. `tree`: build_plugin_tree() of the same Model.
std::vector<PluginModule> plugin_modules(const Model& model, const PluginTrace& trace, const OpTree& tree);

// Lightning's modules, by the rules of the tree. The plugin shows them for traces whose "Framework" is
// pytorch-lightning, where their ranges are operators; tprof for all traces with such ranges.
std::vector<PluginModule> lightning_modules(const Model& model, const OpTree& tree);

}  // namespace tprof
