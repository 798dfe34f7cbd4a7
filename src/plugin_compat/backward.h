// How torch_tb_profiler changes backward passes in traces that have modules and arrows from forward operators.
//
// Each module gets a node "<name>.backward" with the engine's ranges for the operators that the module called, and the
// following ranges that accumulate gradients. It is placed on the main thread at the time of the backward pass. Ranges
// that no arrow reaches are dropped with all their descendants, and so are threads that have no node left.
#pragma once
#include <utility>
#include <vector>

#include "plugin_compat/tree.h"

namespace tprof {

// Start times of forward operators and of their backward operators, in OpNode's unit; in the order of the file.
using PluginArrows = std::vector<std::pair<i64, i64>>;

// `tree` is otherwise complete; its nodes get new numbers. A backward node has the name of its module: see node_name().
void move_backward(PluginTree& tree, const Model& model, const PluginArrows& arrows);

}  // namespace tprof
