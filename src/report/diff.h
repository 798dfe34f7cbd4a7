// A diff as tables, and as JSON.
#pragma once
#include "analysis/diff/diff.h"
#include "report/table.h"

namespace tprof {

// The changes of one kind of row, largest first: at most `most` rows, 0: all. A limited table leaves out changes that
// noise explains or that are below kSameRatio of the row, and counts them in its footer.
Table diff_table(const Diff& diff, DiffBy by, size_t most);

// Figures of the machine that the finishers read; no rows if they could not.
Table diff_machine_table(const Diff& diff);

// {schema, story, verdict: unknown|noise|changed|second_changed, remarks, sample: runs|steps, runs: {a, b},
// steps: {a, b}, step: row, second: row, alike, machine, columns, n_rows, rows: [{by, name, a_us, b_us, delta_us,
// low_us, high_us, smallest_us, changed, ...}], tree, totals, notes}. With its columns it is itself a table, as tree
// and totals are; rows come by kind, largest change first. The commands add "flames" (report/flame_tables.h).
Json diff_json(const Diff& diff, const TableJson& tables);

// A's and B's calls side by side: calls and each of the four durations have the prefixes "a_", "b_", "delta_" and
// "percent_" (of A); what is on one side only is null on the other. "bar": the label in a chart of siblings, null: no
// bar; the plugin's chart has none for operators and for what it cannot match. "*_accumulated": sums of
// *_total_duration over the siblings' bars up to this one: device time, or host time if there is none.
Table diff_tree_table(const DiffTree& tree);
// Operators inside the row with that "node".
Table diff_totals_table(const DiffTree& tree);

// Bounded: the kDiffTreeRows heaviest rows of the tree, the first kDiffTotalRows of their totals.
constexpr size_t kDiffTreeRows = 1000, kDiffTotalRows = 5000;
Json diff_tree_json(const DiffTree& tree, const TableJson& tables);  // {tree, totals}

}  // namespace tprof
