// The distributed jobs among the inputs of a command: traces of the same span in one directory are the ranks of a job.
// Some facts about a rank follow only from all ranks.
#pragma once
#include "analysis/ranks/distributed.h"
#include "input/inputs.h"
#include "plugin_compat/distributed.h"

namespace tprof {

struct Job {
  std::string run, span;
  size_t turn = 1;                                              // number among jobs with the same run and span
  std::vector<Rank> ranks;                                      // sorted by finish()
  Distributed found;                                            // computed by finish()
  std::vector<std::string> doubts;                              // " : why these may not be the ranks of one whole job
  std::vector<std::shared_ptr<const PluginRank>> plugin_ranks;  // used instead of `ranks` by the plugin's rules

  DistributedView view() const {
    return plugin_ranks.empty() ? distributed_view(ranks, found) : plugin_distributed_view(plugin_ranks);
  }
  std::string span_text() const { return turn == 1 ? span : span + " (" + std::to_string(turn) + ")"; }
};

class Jobs {
 public:
  // If the job has this rank already, a new job is started: with trace handlers of users, the names of files may not
  // show that they are several windows of one process.
  void add(const Input& input, Rank rank);
  // By the plugin's rules a job is identified by run and span alone.
  void add(const Input& input, std::shared_ptr<const PluginRank> rank);
  // To be called when all ranks are added.
  void finish();

  const std::vector<Job>& all() const { return jobs_; }
  // `code`, or kExitPartial in place of kExitOk if the traces may not be those of whole jobs.
  int code_with_doubts(int code) const;
  // What follows from the other ranks for the rank of this trace.
  RankFacts facts_of(const Input& input) const;

 private:
  std::vector<Job> jobs_;
  std::map<std::string, size_t> job_of_;  // by path
};

// More traces than this are not read if there are facts of them.
constexpr size_t kFactsFrom = 64;
// Adds the ranks of all inputs, from their facts if there are many, and finishes the jobs. Returns the exit code.
int add_ranks(Inputs& inputs, Jobs& jobs);

// Reads all inputs to find out which rank waits for which, since this must be known before the first rank is reported.
Jobs jobs_of(Inputs& inputs);

// The JSON that `tprof advise` prints for a job.
Json stragglers_json(const Job& job);

// Whether any two inputs can be ranks of one job.
bool may_hold_jobs(const std::vector<Input>& inputs);

}  // namespace tprof
