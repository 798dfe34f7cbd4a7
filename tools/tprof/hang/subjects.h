// The processes of the job that `tprof hang` looks at: by the recordings of a log directory, or by kinship with one of
// them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "analysis/hang/facts.h"
#include "base/job.h"
#include "hang/look.h"

namespace tprof::hang {

// A rank, or a program that is none, while it is looked at.
struct Subject {
  Rank rank;
  JobPlace place;
  std::string path;  // of its recording; empty: it has none
  u64 start_time = 0, created_ns = 0;
  u32 own_pid = 0, ancestor = 0;  // as its recording has them: they differ from those here in containers
  i64 written_ns = 0;             // when something was last written into its recording, CLOCK_REALTIME
  bool ranks_were_chosen = false;
  bool closed = false;
  bool here = true;  // its process is one of those that are seen here, or was
  Look before, now;
};

struct Subjects {
  std::vector<Subject> all;
  std::string directory;           // of the recordings; empty: there are none
  i32 world_size = -1;             // -1: not known
  bool on_one_host = false;        // all ranks of the job are known to be on this host
  bool ranks_were_chosen = false;  // by --ranks: others have no recording
  std::set<int> loader_workers;    // processes that record, as workers of data loaders
  std::string cannot_tell;         // see Job
  std::vector<std::string> notes;
};

// `subject`: a log directory, or the id of one process of the job. `has_dumps`: there may be no recording. `pid`: of a
// process whose job counts where a log directory holds several; 0: none. Throws Error with one line.
Subjects find_subjects(const std::string& subject, bool has_dumps, int pid);

// How long ago the process began, as far as is known; -1: it is not.
i64 age_of(const Subject& subject);

// What tells the job of a process from others, by its environment or the process that has started it: one line.
std::string job_of(int pid);

}  // namespace tprof::hang
