// The operator tree as torch_tb_profiler builds it, including its mistakes. The plugin's tables and its Memory and
// Module views are sums over it.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

struct PluginTree : OpTree {
  std::vector<i32> twin;      // by node: the first node of the same range, itself if there is no other
  std::vector<bool> visited;  // by node: the plugin looked for memory events in it; twins share the first one's flag
};

PluginTree build_plugin_tree(const Model& model, const PluginTrace& trace);
// The tree of the actions that PyTorch Lightning's profiler recorded.
OpTree build_lightning_tree(const Model& model, const PluginTrace& trace);

}  // namespace tprof
