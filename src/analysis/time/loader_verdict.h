// Whether the workers of a DataLoader are too few, too slow or blocked.
#pragma once
#include <string>

#include "analysis/time/loaders.h"

namespace tprof {

// Sets the verdict and what belongs to it from all other fields. `cpus`: on which the program may run; NaN: not known.
void judge(LoaderUse& use, double cpus);

// The verdict as sentences: what was seen, and what would help ("": nothing).
std::string reason_of(const LoaderUse& use);
std::string remedy_of(const LoaderUse& use);

}  // namespace tprof
