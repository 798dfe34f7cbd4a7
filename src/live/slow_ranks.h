// Which rank holds up the others of its job.
#pragma once
#include <vector>

#include "live/view.h"

namespace tprof::live {

// Marks in each job the rank that holds up the others: of the recent steps its part outside of communication is longer
// than that of the next by more than a tenth, and by more than a twentieth of a step. Only ranks of one world size are
// compared, whose recent steps overlap, and none if two have the same number: those are not of one job.
void mark_slow_ranks(std::vector<ProgramView>& programs);

}  // namespace tprof::live
