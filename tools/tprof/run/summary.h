// What `tprof run` says of the run when the program has ended: report/summary.h of one of the traces that it wrote.
#pragma once
#include "run/closing.h"

namespace tprof {

// On stderr. False when the traces are too large for it.
bool show_summary(const std::string& directory, const std::vector<NewTrace>& written);

}  // namespace tprof
