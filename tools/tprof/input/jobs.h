// The jobs among what a command was given: processes whose traces lie in one directory and are of the same span are
// ranks of one. What is said of a rank may need all of them.
#pragma once
#include "analysis/ranks/distributed.h"
#include "input/inputs.h"
#include "plugin_compat/distributed.h"

namespace tprof {

struct Job {
  std::string run, span;
  size_t turn = 1;                                              // of several whose traces have the same run and span
  std::vector<Rank> ranks;                                      // sorted, once all were added
  Distributed found;                                            // likewise
  std::vector<std::shared_ptr<const PluginRank>> plugin_ranks;  // by the plugin's rules instead

  DistributedView view() const {
    return plugin_ranks.empty() ? distributed_view(ranks, found) : plugin_distributed_view(plugin_ranks);
  }
  std::string span_text() const { return turn == 1 ? span : span + " (" + std::to_string(turn) + ")"; }
};

class Jobs {
 public:
  // A rank that the job has already begins another one: people's own trace handlers write several windows of a process
  // under names that tell nothing of it.
  void add(const Input& input, Rank rank);
  // The plugin knows run and span alone.
  void add(const Input& input, std::shared_ptr<const PluginRank> rank);
  // All were added.
  void finish();

  const std::vector<Job>& all() const { return jobs_; }
  // What the other ranks say of the one with this trace.
  RankFacts facts_of(const Input& input) const;

 private:
  std::vector<Job> jobs_;
  std::map<std::string, size_t> job_of_;  // by path
};

// Who waits for whom is known once all ranks have been read: before anything is said of one of them.
Jobs jobs_of(Inputs& inputs);

// What --json of `tprof advise` says of a job.
Json stragglers_json(const Job& job);

// False: no two traces can be ranks of one job.
bool may_hold_jobs(const std::vector<Input>& inputs);

}  // namespace tprof
