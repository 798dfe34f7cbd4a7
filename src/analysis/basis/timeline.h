// The ranges of one thread in order of time, for a timeline of operators and modules.
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

// The ranges of the main thread, or of the first thread if `tree` follows the plugin's rules. In order of start,
// parents before their children. CUDA calls are left out, and Python calls other than those of modules.
std::vector<TimelineRange> timeline(const Model& model, const OpTree& tree);

}  // namespace tprof
