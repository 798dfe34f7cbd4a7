// The summary that `tprof run` prints when its program has ended: report/summary.h for one of the traces of the run.
#pragma once
#include "run/closing.h"

namespace tprof {

// Prints to stderr. Throws Error if nothing can be summed up.
void show_summary(const Written& written);

}  // namespace tprof
