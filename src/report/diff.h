// A diff as tables, and as JSON.
#pragma once
#include "analysis/diff.h"
#include "report/table.h"

namespace tprof {

// What changed by one kind of row, largest change first: at most `most` rows, 0 all. Changes that noise explains, or
// below kSameRatio of the row, are left out of a limited table and counted in its footer.
Table diff_table(const Diff& diff, DiffBy by, size_t most);

// What the finishers read of the machine; without rows where they could not.
Table diff_machine_table(const Diff& diff);

// {schema, story, verdict: unknown|noise|changed|second_changed, remarks, sample: runs|steps, runs: {a, b},
// steps: {a, b}, step: row, second: row, alike, machine, columns, n_rows, rows: [{by, name, a_us, b_us, delta_us, low_us,
// high_us, smallest_us, changed, ...}], notes}: with its columns it is a table, too. Rows come by kind, largest change first.
Json diff_json(const Diff& diff);

}  // namespace tprof
