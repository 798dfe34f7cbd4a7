// The timeline of one worker and span in the page: as much of it as there is room for.
#pragma once
#include "report/page.h"
#include "stats_words.h"

namespace tprof {

// Adds what fits into `most` bytes of the file: everything, else no Python functions, else only three steps (the first,
// one of median length and the slowest), else nothing. Arrows and counters are those of the slices that are in it.
//
// {"slices": those in the page, "all": those of the span, "first_us": the first moment (basis/windows.h) from the
// span's begin, "start_ns": the span's begin in ns since 1970 as text, null where it is not known, "left_out":
// [sentence], "columns": {name: packed}}, where "columns" is left out with the last slice (report/timeline.h).
Json add_timeline(Page& page, const StatsSubject& subject, u64 most);

}  // namespace tprof
