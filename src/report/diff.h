// A diff as tables, and as JSON.
#pragma once
#include "analysis/diff/diff.h"
#include "report/table.h"

namespace tprof {

// What changed by one kind of row, largest change first: at most `most` rows, 0 all. Changes that noise explains, or
// below kSameRatio of the row, are left out of a limited table and counted in its footer.
Table diff_table(const Diff& diff, DiffBy by, size_t most);

// What the finishers read of the machine; without rows where they could not.
Table diff_machine_table(const Diff& diff);

// {schema, story, verdict: unknown|noise|changed|second_changed, remarks, sample: runs|steps, runs: {a, b},
// steps: {a, b}, step: row, second: row, alike, machine, columns, n_rows, rows: [{by, name, a_us, b_us, delta_us, low_us,
// high_us, smallest_us, changed, ...}], tree, totals, notes}. With its columns it is itself a table, as tree and totals
// are; rows come by kind, largest change first.
Json diff_json(const Diff& diff, const TableJson& tables);

// A's and B's calls beside each other: "a_", "b_", "delta_" and "percent_" (of A) before calls and each of the four
// durations, what is on one side only null on the other. "bar": what a chart of siblings calls it, null where it has
// none; the plugin's chart has none of operators and of what it cannot match. "*_accumulated": sums over the siblings'
// bars up to this one, of *_total_duration: the time on the GPU, where there is none that on the host.
Table diff_tree_table(const DiffTree& tree);
// Operators inside the row with that "node".
Table diff_totals_table(const DiffTree& tree);

// Bounded: the kDiffTreeRows heaviest rows of the tree, the first kDiffTotalRows of their totals.
constexpr size_t kDiffTreeRows = 1000, kDiffTotalRows = 5000;
Json diff_tree_json(const DiffTree& tree, const TableJson& tables);  // {tree, totals}

}  // namespace tprof
