// The Diff view of torch_tb_profiler: two traces' first trees, call by call.
//
// Calls of loaders, modules, backward passes of modules, optimizers and steps are matched in order by kind and name.
// The calls between two such pairs are one node, named CompositeNodes if they are several and Blank if there are none.
// Only matched calls, and lists of calls on both sides, have children.
#pragma once
#include "analysis/diff/tree.h"

namespace tprof {

// What the view needs of one trace.
struct PluginDiffSide {
  struct Call {
    std::string name;
    NodeKind kind;
    bool listed;  // tables of operators count it
    CallCosts costs;
    std::vector<u32> inside;  // indices into `calls`
  };
  std::vector<Call> calls;
  std::vector<u32> top;  // calls in the first thread's steps, or all calls of that thread if it has no steps
};

// `tree`: build_plugin_tree() of the Model.
PluginDiffSide plugin_diff_side(const Model& model, const OpTree& tree);

DiffTree plugin_diff_tree(const PluginDiffSide& a, const PluginDiffSide& b);

}  // namespace tprof
