// What torch_tb_profiler does to backward passes in traces that have modules and arrows from forward operators.
//
// Each module gets a node "<name>.backward" that holds the engine's ranges of the operators called in it, with the
// ranges behind them that accumulate gradients; it stands on the main thread where the backward pass began. Ranges that
// no arrow reaches are gone, with all in them, and so are threads on which nothing is left.
#pragma once
#include <utility>
#include <vector>

#include "analysis/basis/op_tree.h"

namespace tprof {

// Begins of operators and of what runs backward for them, as OpNode has times; in the order of the file.
using PluginArrows = std::vector<std::pair<i64, i64>>;

// `tree`: otherwise complete; its nodes are numbered anew. A backward node has the name of its module: see node_name().
void move_backward(OpTree& tree, const Model& model, const PluginArrows& arrows);

}  // namespace tprof
