// Why the traces of a directory may not be one whole job.
#pragma once
#include "analysis/ranks/rank.h"

namespace tprof {

// One line each. For traces of one rank there is nothing to doubt: whoever reads a single trace knows that.
std::vector<std::string> doubts_of(const std::vector<Rank>& ranks);

}  // namespace tprof
