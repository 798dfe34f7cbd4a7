// What `tprof run` says of the run when the program has ended: report/summary.h of one of the traces that it wrote.
#pragma once
#include "closing.h"

namespace tprof {

// On stderr. In a process of its own, so that neither damage nor size can harm the end of the run, and for at most
// kSummaryPatienceNs; a word in its place when the traces are too large.
void show_summary(const std::string& directory, const std::vector<NewTrace>& written, Supervisor& supervisor);

}  // namespace tprof
