// To which node of its operator tree torch_tb_profiler assigns an allocation or release.
//
// The plugin searches the tree of the event's thread after backward nodes have moved, so events of a thread that has
// lost all its nodes belong to no node. Its tables skip nodes that it never searched, and their descendants.
#pragma once
#include "plugin_compat/tree.h"

namespace tprof {

// Fills in of_memory (-1 also if the innermost node is not listed), visited, and twin for nodes that were not moved.
// `tids`: by OpNode::thread.
void find_memory_nodes(PluginTree& tree, const Model& model, const PluginTrace& trace, const std::vector<i64>& tids);

// By node: its children, in order.
std::vector<std::vector<u32>> children_of(const OpTree& tree);

}  // namespace tprof
