// What --by of `tprof stats` understands: one table of words. The command, its help, its completion and the manual's
// table follow from it.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/advice/facts.h"
#include "analysis/basis/op_tree.h"
#include "model/plugin_trace.h"
#include "plugin_compat/tree.h"
#include "report/table.h"

namespace tprof {

struct Job;  // jobs.h

// What of the time of a trace is asked for, in microseconds as tables show moments: since the span's begin, or by the
// plugin's rules since its first event. Without an end it is open.
struct StatsTimes {
  double begin_us = -std::numeric_limits<double>::infinity(), end_us = std::numeric_limits<double>::infinity();
  std::optional<double> at_us;  // --at
};

// Made when it is first asked for, then kept.
template <class T>
class Once {
 public:
  template <class Make>
  T& get(Make make) const {
    if (!value_) value_.reset(new T(make()));
    return *value_;
  }

 private:
  mutable std::unique_ptr<T> value_;
};

// What a word may look at. What several of them need is computed once.
class StatsSubject {
 public:
  // `facts`: of the same Model, if they are computed anyway.
  StatsSubject(const Model& m, const PluginTrace& p, RuleSet r, u32 depth, const std::vector<DevicePeak>& d,
               const StatsTimes& t = {}, const Facts* facts = nullptr)
      : model(m), plugin(p), rules(r), stack_depth(depth), devices(d), times(t), facts_(facts) {}
  StatsSubject(const StatsSubject&) = delete;

  const Model& model;
  const PluginTrace& plugin;
  RuleSet rules;
  u32 stack_depth;                         // --stack-depth
  const std::vector<DevicePeak>& devices;  // --devices
  StatsTimes times;                        // --range, --at

  const OpTree& tree() const;  // by `rules`
  const PluginTree& plugin_tree() const;
  const OpTree& tree_with_python() const;  // ours, with all Python calls
  const Words& words() const;
  const Waits& waits() const;
  const Windows& windows() const;
  const Launches& launches() const;
  const std::vector<IdleLane>& lanes() const;
  const Flops& flops() const;
  const std::vector<MemoryPeak>& peaks() const;
  HostTimelines& timelines() const;
  bool has_device() const {
    return std::any_of(model.gpu.begin(), model.gpu.end(), [](const GpuEvent& work) { return work.runs_on_gpu(); });
  }

 private:
  const Facts* facts_;
  Once<OpTree> tree_, tree_with_python_;
  Once<PluginTree> plugin_tree_;
  Once<Words> words_;
  Once<Waits> waits_;
  Once<Windows> windows_;
  Once<Launches> launches_;
  Once<std::vector<IdleLane>> lanes_;
  Once<Flops> flops_;
  Once<std::vector<MemoryPeak>> peaks_;
  Once<HostTimelines> timelines_;
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
  Json (*json)(const StatsSubject&, const TableJson&) = nullptr;  // what else --json has
};

const std::vector<StatsWord>& stats_words();

// By the word's own column; its key, empty where rows stand as they come.
std::string sort_by_default(const StatsWord& word, Table& table);

// What --json says of one worker and span, or of a job.
Json stats_json(const Source& source, const StatsAnswer& answer, const std::string& sorted_by, const TableJson& tables);

}  // namespace tprof
