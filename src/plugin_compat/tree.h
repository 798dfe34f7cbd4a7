// The operator tree as torch_tb_profiler builds it, mistakes included: what its tables, its Memory and its Module view
// are sums over.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

OpTree build_plugin_tree(const Model& model, const PluginTrace& trace);
// Of the actions that PyTorch Lightning's profiler noted.
OpTree build_lightning_tree(const Model& model, const PluginTrace& trace);

}  // namespace tprof
