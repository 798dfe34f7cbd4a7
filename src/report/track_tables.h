// The timeline's tracks as tables: `tprof stats --by track|slice`.
#pragma once
#include "analysis/tables/counters.h"
#include "analysis/tables/slice_sums.h"
#include "report/table.h"

namespace tprof {

// Which events of a trace are no slices, since tprof does not know what their category or phase stands for, and how
// many: one sentence, empty if there are none. Labels that profilers repeat on GPUs are not among them.
std::string unknown_events(const Model& model);

// Times of tracks and points count from the span's begin.
Table tracks_table(const Model& model, const Tracks& tracks);
Table flows_table(const Tracks& tracks);
Table counters_table(const std::vector<Counter>& counters);
const char* name_of(CounterUnit unit);  // as units of columns

Table slices_table(const Model& model, const Tracks& tracks, const std::vector<SliceSum>& sums);

}  // namespace tprof
