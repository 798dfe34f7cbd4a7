// A diff as tables, and as JSON.
#pragma once
#include "analysis/diff.h"
#include "report/table.h"

namespace tprof {

// What changed by one kind of row, largest change first: at most `most` rows, 0 all. Changes that the steps' spread
// explains, or below kSameRatio of the row, are left out of a limited table and counted in its footer.
Table diff_table(const Diff& diff, DiffBy by, size_t most);

// {schema, story, steps: {a, b}, regression, step: row, rows: [{by, name, a_us, b_us, delta_us, ...}], notes}
Json diff_json(const Diff& diff);

}  // namespace tprof
