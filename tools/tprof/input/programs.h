// Programs that run now, as a user names them: a process id, or the log directory of a run.
#pragma once
#include <string>
#include <vector>

namespace tprof {

// The process id that a word is; 0: it is none.
int pid_in(const std::string& word);

// Adds the processes that these have started, and so on: ranks, data-loader workers, whatever else belongs to the run.
// Those of tprof itself are left out. Ascending.
std::vector<int> with_descendants(std::vector<int> pids);

}  // namespace tprof
