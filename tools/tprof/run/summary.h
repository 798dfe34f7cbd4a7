// The summary that `tprof run` prints when its program has ended: report/summary.h for one of the traces of the run.
#pragma once
#include "run/closing.h"

namespace tprof {

// Prints to stderr. False if the traces are too large.
bool show_summary(const std::string& directory, const std::vector<NewTrace>& written);

}  // namespace tprof
