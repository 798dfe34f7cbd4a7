// What --by of `tprof stats` understands: one table of words. The command, its help, its completion and the README's
// list follow from it.
#pragma once
#include <algorithm>
#include <vector>

#include "analysis/flops.h"
#include "analysis/op_tree.h"
#include "report/table.h"

namespace tprof {

struct Job;  // jobs.h

// What a word may look at.
struct StatsSubject {
  const Model& model;
  const PluginTrace& plugin;
  Rules rules;
  u32 stack_depth;                        // --stack-depth
  const std::vector<DevicePeak>& devices; // --devices

  bool has_device() const {
    return std::any_of(model.gpu.begin(), model.gpu.end(), [](const GpuEvent& work) { return work.runs_on_gpu(); });
  }
  OpTree tree() const { return rules == Rules::plugin ? build_plugin_tree(model, plugin) : build_op_tree(model); }
};

struct StatsAnswer {
  Table table;                                      // what --sort and --csv apply to
  std::vector<std::pair<const char*, Table>> more;  // below it; in JSON by this key
};

struct StatsWord {
  const char* word;
  const char* what;  // for people
  // The first of these columns that the table has is what rows come by, largest first; "" as they come.
  const char *sort, *sort_without;
  bool plugin;  // --plugin-compat has it
  // Of one worker and span; or, where that is nullptr, of all ranks of a job.
  StatsAnswer (*table)(const StatsSubject&);
  StatsAnswer (*of_job)(const Job&) = nullptr;
  Json (*json)(const StatsSubject&) = nullptr;  // what else --json has
};

const std::vector<StatsWord>& stats_words();

}  // namespace tprof
