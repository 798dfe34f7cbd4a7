// Which node of its operator tree torch_tb_profiler takes an allocation or release for.
//
// It looks for those of a thread in the tree of that thread, as it is when backward nodes have moved: what ran on a
// thread that has lost all its nodes belongs to none. Nodes in which it never looked hide what is in them.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

// Fills of_memory (-1 also where the innermost node is not listed), visited, and twin where nothing moved. `tids`: by
// OpNode::thread.
void find_memory_nodes(OpTree& tree, const Model& model, const PluginTrace& trace, const std::vector<i64>& tids);

// By node: those directly in it, in order.
std::vector<std::vector<u32>> children_of(const OpTree& tree);

}  // namespace tprof
