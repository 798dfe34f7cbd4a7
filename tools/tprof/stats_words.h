// The table of the words that `tprof stats --by` accepts. The command, its help, completion and the manual's table are
// made from it.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/advice/facts.h"
#include "analysis/tables/counters.h"
#include "analysis/tables/flame.h"
#include "analysis/tables/tracks.h"
#include "model/plugin_trace.h"
#include "plugin_compat/tree.h"
#include "report/table.h"

namespace tprof {

struct Job;  // jobs.h

// The times that --range and --at select, in microseconds since the start of the span (by the plugin's rules: since its
// first event).
struct StatsTimes {
  double begin_us = -std::numeric_limits<double>::infinity(), end_us = std::numeric_limits<double>::infinity();
  std::optional<double> at_us;  // --at
};

// A value that is computed when it is first needed.
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

// One worker and span, with the analyses that the words use. Each analysis runs at most once.
class StatsSubject {
 public:
  // `facts`: those of the same Model, if the caller has them.
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
  const OpTree& tree_with_python() const;  // by tprof's rules, with all Python calls
  const NameClasses& classes() const;
  const Waits& waits() const;
  const Windows& windows() const;
  const Launches& launches() const;
  const std::vector<IdleLane>& lanes() const;
  const Flops& flops() const;
  const std::vector<MemoryPeak>& peaks() const;
  HostTimelines& timelines() const;
  FlameInput flame_input() const;
  const Tracks& tracks() const;
  const std::vector<Counter>& counters() const;
  bool has_device() const {
    return std::any_of(model.gpu.begin(), model.gpu.end(), [](const GpuEvent& work) { return work.runs_on_gpu(); });
  }

 private:
  const Facts* facts_;
  Once<OpTree> tree_, tree_with_python_;
  Once<PluginTree> plugin_tree_;
  Once<NameClasses> classes_;
  Once<Waits> waits_;
  Once<Windows> windows_;
  Once<Launches> launches_;
  Once<std::vector<IdleLane>> lanes_;
  Once<Flops> flops_;
  Once<std::vector<MemoryPeak>> peaks_;
  Once<HostTimelines> timelines_;
  Once<Tracks> tracks_;
  Once<std::vector<Counter>> counters_;
};

struct StatsAnswer {
  Table table;                                      // the main table: --sort and --csv apply to it
  std::vector<std::pair<const char*, Table>> more;  // printed below it; the text is the key in JSON
};

struct StatsWord {
  const char* word;
  const char* what;  // for help and manual
  // Rows are sorted by the first of these columns that the table has, largest first; "": rows keep their order.
  const char *sort, *sort_without;
  bool plugin;  // available with --plugin-compat
  // The answer for one worker and span; if this is nullptr, of_job answers for all ranks of a job.
  StatsAnswer (*table)(const StatsSubject&);
  StatsAnswer (*of_job)(const Job&) = nullptr;
  Json (*json)(const StatsSubject&, const TableJson&) = nullptr;  // what --json has in addition
  bool range = false;                                             // takes --range
  bool in_page = true;  // else the page of `tprof report` computes it itself, from its timeline
};

const std::vector<StatsWord>& stats_words();

// Sorts by the column of the word and returns its key, or "" if the rows keep their order.
std::string sort_by_default(const StatsWord& word, Table& table);

// The JSON of one worker and span, or of a job.
Json stats_json(const Source& source, const StatsAnswer& answer, const std::string& sorted_by, const TableJson& tables);

}  // namespace tprof
