// Ranges of one thread as they came: what a timeline of operators and modules draws.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/op_tree.h"

namespace tprof {

struct TimelineRange {
  std::string name;
  NodeKind kind;
  i32 parent;            // index into the list
  i64 begin_ns, end_ns;  // since the Model's base; by the plugin's rules since the trace's first event
};

// Of the main thread; by the plugin's rules (`tree` built by them) of the first one. In order of begin, parents before
// their children. CUDA calls, and Python calls that are not of modules, are left out.
std::vector<TimelineRange> timeline(const Model& model, const OpTree& tree);

}  // namespace tprof
