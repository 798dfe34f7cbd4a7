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

// What a process has mapped of tprof. All false: it may not be looked at.
struct MappedHere {
  bool readable = false;
  bool library = false;
  bool recorded = false;
  std::string log_directory;  // of its recording, as it can be opened here; empty: it cannot
};
MappedHere tprof_in(int pid);

// A variable in the environment that a process was started with; empty if there is none.
std::string started_with(int pid, const std::string& variable);

// A process of this user that has our library and was started with this log directory; 0: there is none.
int program_for(const std::string& log_directory);

}  // namespace tprof
