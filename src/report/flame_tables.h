// Flame graphs as tables: one row for each source, and a tree of contexts for each.
#pragma once
#include <utility>
#include <vector>

#include "analysis/diff/flame.h"
#include "report/table.h"

namespace tprof {

constexpr size_t kFlameRows = 20000;  // of a tree: the heaviest contexts, by any of its costs

// How a cost is shown: with what is below a context, and its own. Calls are those of the context alone.
struct FlameColumn {
  const char *key, *self_key, *title;  // key: nullptr where there is no total
  Unit unit;
};
const FlameColumn& flame_column(FlameCost cost);

Table flame_sources_table(const std::vector<FlameTree>& trees);
Table flame_table(const Model& model, const FlameTree& tree);

// The share that a node has of the cost of which it has most: by it the heaviest contexts are found.
double largest_share(const FlameCosts& costs, const FlameCosts& sums);

// Per step, of A and of B; what is on one side only is null on the other. "all" is the top.
Table flame_diff_table(const FlameDiff& diff);
Json flame_diffs_json(const std::vector<FlameDiff>& diffs, const TableJson& tables);  // {source: table}

}  // namespace tprof
