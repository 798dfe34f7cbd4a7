// Collects what verdict() needs: the recordings of a job's ranks, what the kernel says of their processes, and the
// stacks of their threads.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/hang/verdict.h"
#include "stack/stacks.h"

namespace tprof::hang {

struct Gathered {
  Job job;
  Finding finding;
  std::map<int, ProgramStacks> stacks;  // by process: of ranks and of workers of data loaders on this machine
  std::vector<std::string> notes;       // what could not be read
};

// `subject`: a log directory, or the id of one process of the job. `dumps`: a directory or file with dumps of PyTorch's
// flight recorder; those in the log directory are read anyway. `pid`: of a process whose job counts where the log
// directory holds several; 0: none. Takes about a second. Throws Error with one line.
Gathered gather(const std::string& subject, const std::string& dumps, int pid = 0);

}  // namespace tprof::hang
