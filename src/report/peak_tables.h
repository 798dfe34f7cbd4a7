// Memory at its peak as tables: `tprof stats --by peak`.
#pragma once
#include "analysis/tables/memory_peak.h"
#include "report/table.h"

namespace tprof {

// Who owned what was alive at each device's peak; leaks and fragmentation in the footer. `stack_depth`: frames shown, 0
// all.
Table peak_table(const Model& model, const std::vector<MemoryPeak>& peaks, u32 stack_depth);
// Where memory grows from step to step: who allocated what is still alive. Empty without growth.
Table leaks_table(const Model& model, const std::vector<MemoryPeak>& peaks, u32 stack_depth);

}  // namespace tprof
