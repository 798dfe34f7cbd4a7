// Who called whom, and what lines of source cost, as tables.
#pragma once
#include "analysis/basis/timeline.h"
#include "analysis/tables/call_tree.h"
#include "analysis/tables/line_costs.h"
#include "report/table.h"

namespace tprof {

const char* kind_text(NodeKind kind);  // "op", "label", "module" ...
Table call_tree_table(const Model& model, const CallTree& tree);
// Times since `zero_ns`, which is where the trace's viewers count from. A tree; siblings in order of begin.
Table timeline_table(const std::vector<TimelineRange>& ranges, i64 zero_ns);
Table lines_table(const Model& model, const CostsByLine& lines);

}  // namespace tprof
