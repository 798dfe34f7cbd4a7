// The processes of a run, as far as one has started another.
#pragma once
#include <vector>

namespace tprof {

// Adds the processes that these have started, and so on: ranks, data-loader workers, whatever else belongs to the run.
// Those of tprof itself are left out. Ascending.
std::vector<int> with_descendants(std::vector<int> pids);

}  // namespace tprof
