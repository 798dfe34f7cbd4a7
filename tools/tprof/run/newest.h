// Which files are read where all of them would take too long.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

// Those that were changed last and are no larger than `most_bytes` together, but at least one; in the given order.
std::vector<std::string> newest_within(const std::vector<std::string>& files, u64 most_bytes);

}  // namespace tprof
