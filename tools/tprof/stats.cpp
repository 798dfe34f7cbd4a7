// `tprof stats`: the tables of stats_words.h as text, CSV or JSON.
//
// JSON, schema 1 (keys are only ever added): {"schema", "by", "rules", "workers": [{"run", "worker", "span", "sort",
// "columns": [{"key", "title", "unit"}], "n_rows", "rows": [{key: value}], "notes"}]}. Times are microseconds, sizes
// bytes, what is not known is null. Some words have more than their table:
//   memory         "events" ("stack" is a number of the table "stacks"), "nodes" and "changes" (what the sums of any
//                  range follow from, see memory_tree()), "stacks", "curve"; "alive" with --at
//   comm           whose worker is "all ranks": "ranks", "steps" (each rank in each step), "operations" (rank by rank;
//                  by the plugin's rules the rows themselves), "nodes" (and their GPUs)
//   utilization    by the plugin's rules "sm_efficiency"
//   idle "reasons"; launch "slow_calls", "delayed_work"; critical-path "links"; peak "leaks"
//   tree           rows have "parent" (a number of a row, null at the top), "depth" and "left_out" (rows below it that
//                  are not shown)
#include <stdio.h>

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/reals.h"
#include "cli/device_peaks.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "input/jobs.h"
#include "json/json.h"
#include "report/tree_table.h"
#include "stats_words.h"

namespace tprof {
namespace {

// What --sort accepts beside the keys of columns: the words of torch.profiler, and short ones.
struct SortWord {
  const char *word, *key;
};
constexpr SortWord kSort[] = {
    {"self_cpu_time_total", "host_self_duration"},
    {"cpu_time_total", "host_total_duration"},
    {"cpu_time", "host_mean_duration"},
    {"self_cuda_time_total", "device_self_duration"},
    {"cuda_time_total", "device_total_duration"},
    {"cuda_time", "device_mean_duration"},
    {"self_device_time_total", "device_self_duration"},
    {"device_time_total", "device_total_duration"},
    {"device_time", "device_mean_duration"},
    {"self_device_memory_usage", "self_cuda_memory_usage"},
    {"device_memory_usage", "cuda_memory_usage"},
    {"count", "calls"},
    {"self-host", "host_self_duration"},
    {"host", "host_total_duration"},
    {"self-cpu", "host_self_duration"},
    {"cpu", "host_total_duration"},
    {"self-device", "device_self_duration"},
    {"device", "device_total_duration"},
    {"self-cuda", "device_self_duration"},
    {"cuda", "device_total_duration"},
    {"total", "total_duration"},
    {"mean", "mean_duration"},
    {"max", "max_duration"},
    {"min", "min_duration"},
    {"self-memory", "self_size_increase"},
    {"memory", "size_increase"},
};

struct StatsOptions {
  std::vector<std::string> paths;
  std::string by = "op", sort, limit, depth = "0", stack_depth = "0", devices, range, at;
  bool csv = false, json = false, plugin = false;
};

// A moment in microseconds: 1500, 1500us, 1.5ms, 0.0015s.
double us_of(const std::string& flag, const std::string& text) {
  constexpr std::pair<const char*, double> kUnits[] = {{"", 1}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}};
  constexpr double kFarthest = 1e14;  // three years: beyond any trace, and ns of it can be added to any moment
  size_t end = std::min(text.find_first_not_of("-.0123456789"), text.size());
  std::optional<double> number = read_real(std::string_view(text).substr(0, end));
  for (const auto& [unit, us] : kUnits)
    if (number && text.substr(end) == unit) return std::clamp(*number * us, -kFarthest, kFarthest);
  throw Error(Fault::usage, flag + " '" + text + "' is not a time (such as 1500, 1.5ms, 2s)");
}

StatsTimes times_of(const std::string& range, const std::string& at) {
  StatsTimes out;
  if (size_t colon = range.find(':'); !range.empty()) {
    if (colon == range.npos || range.find(':', colon + 1) != range.npos)
      throw Error(Fault::usage, "--range '" + range + "' is not BEGIN:END");
    if (colon > 0) out.begin_us = us_of("--range", range.substr(0, colon));
    if (colon + 1 < range.size()) out.end_us = us_of("--range", range.substr(colon + 1));
    if (out.begin_us > out.end_us) throw Error(Fault::usage, "--range '" + range + "' ends before it starts");
  }
  if (!at.empty()) out.at_us = us_of("--at", at);
  return out;
}

// "op, op+shape, kernel ..."
std::string all_words() {
  std::string all;
  for (const StatsWord& word : stats_words()) all += (all.empty() ? "" : ", ") + std::string(word.word);
  return all;
}

const StatsWord& word_of(const std::string& text) {
  for (const StatsWord& word : stats_words())
    if (text == word.word) return word;
  throw Error(Fault::usage, "--by '" + text + "' is none of " + all_words());
}

class Stats {
 public:
  explicit Stats(const StatsOptions& options)
      : options_(options),
        word_(word_of(options.by)),
        rules_(options.plugin ? RuleSet::plugin : RuleSet::tprof),
        limit_(!options.limit.empty()        ? number_of("--limit", options.limit)
               : options.csv || options.json ? 0
                                             : 20),
        levels_(number_of("--depth", options.depth)),
        depth_(number_of("--stack-depth", options.stack_depth)),
        devices_(device_peaks(options.devices)),
        times_(times_of(options.range, options.at)) {
    if (!word_.range && !options.range.empty()) throw Error(Fault::usage, "--range needs --by memory or --by slice");
    if (options.by != "memory" && !options.at.empty()) throw Error(Fault::usage, "--at needs --by memory");
    if (options.plugin && times_.at_us) throw Error(Fault::usage, "--plugin-compat has no --at");
    if (options.plugin && !word_.plugin) throw Error(Fault::usage, "--plugin-compat has no --by " + options.by);
  }

  int run() {
    Jobs jobs;
    Inputs inputs(options_.paths, rules_);
    bool of_job = word_.of_job && !options_.plugin;
    int code =
        of_job ? add_ranks(inputs, jobs)
               : inputs.each(options_.plugin, [&](const Input& input, const Model& model, const PluginTrace& trace) {
                   if (!usage_.empty()) return;
                   if (options_.plugin && trace.is_list)
                     throw Error(Fault::unreadable, "the plugin drops the file: a list of events, no object");
                   StatsSubject subject(model, trace, rules_, depth_, devices_, times_);
                   if (word_.of_job)
                     jobs.add(input, plugin_rank_of(model, trace, input.worker));
                   else
                     add(source_of(input, model, rules_), word_.table(subject),
                         options_.json && word_.json ? word_.json(subject, whole_) : Json::object());
                 });
    if (!of_job) jobs.finish();
    for (const Job& job : jobs.all())
      if (usage_.empty()) add({job.run, "all ranks", job.span_text()}, word_.of_job(job), Json::object());
    if (!usage_.empty()) throw Error(Fault::usage, usage_);
    if (code == kExitUnreadable) return code;
    if (options_.json)
      print(stdout, json_indented({{"schema", 1},
                                   {"by", word_.word},
                                   {"rules", options_.plugin ? "torch_tb_profiler" : "tprof"},
                                   {"workers", workers_}}) +
                        "\n");
    else if (options_.csv)
      print(stdout, csv_of(tables_));
    return code;
  }

 private:
  void add(const Source& source, StatsAnswer answer, const Json& more) {
    std::string sorted = sort(answer.table);
    if (!usage_.empty()) return;
    limit(answer.table, answer.table.column(sorted));
    for (auto& [key, table] : answer.more) limit(table, -1);
    if (options_.json) {
      Json worker = stats_json(source, answer, sorted, whole_);
      worker.update(more);
      workers_.push_back(std::move(worker));
    } else if (options_.csv) {
      tables_.push_back({source, std::move(answer.table)});
    } else {
      answer.table.title += "  " + source.run + " / " + source.text() + " / span " + source.span;
      show(answer.table);
      for (const auto& [key, table] : answer.more) show(table);
    }
  }

  void limit(Table& table, int sorted_by) const {
    if (table.tree)
      limit_tree(table, levels_, limit_, weights_of(table, sorted_by), " (--limit 0 --depth 0 shows all)");
    else
      limit_rows(table, limit_);
  }

  void show(const Table& table) {
    TextStyle style = text_style(stdout);
    print(stdout, (shown_++ ? "\n" : "") + text_of(table, style), style.color);
  }

  // Returns the key that rows are sorted by.
  std::string sort(Table& table) {
    if (options_.sort.empty()) {
      if (options_.plugin && options_.by == "memory") return "name";  // as it comes: by device, then by name
      return sort_by_default(word_, table);
    }
    std::string key = options_.sort;
    if (table.column(key) < 0)
      for (const SortWord& word : kSort)
        if (key == word.word) key = word.key;
    int column = table.column(key);
    if (column < 0) {
      usage_ = sort_error(table);
      return "";
    }
    sort_rows(table, static_cast<size_t>(column));
    return key;
  }

  std::string sort_error(const Table& table) const {
    std::string all;
    for (const SortWord& word : kSort)
      if (table.column(word.key) >= 0) all += std::string(" ") + word.word;
    for (const Column& column : table.columns) all += " " + column.key;
    return "--sort '" + options_.sort + "': this table has no such column; it has" + all;
  }

  const StatsOptions& options_;
  const StatsWord& word_;
  RuleSet rules_;
  u32 limit_, levels_, depth_;
  std::vector<DevicePeak> devices_;
  const TableJson whole_ = [](const Table& table) { return json_of(table); };
  StatsTimes times_;
  u32 shown_ = 0;
  std::string usage_;  // an error in the command line that is only found when there is a table
  Json workers_ = Json::array();
  std::vector<WorkerTable> tables_;
};

}  // namespace

Action declare_stats(Arguments& arguments) {
  auto options = std::make_shared<StatsOptions>();
  std::string what;
  std::vector<std::string> words;
  for (const StatsWord& word : stats_words()) {
    what += (what.empty() ? "" : "; ") + std::string(word.word) + ": " + word.what;
    words.push_back(word.word);
  }
  arguments.choice("--by", "WHAT", what + " (default op)", words, options->by);
  std::vector<std::string> keys;
  for (const SortWord& word : kSort) keys.push_back(word.word);
  arguments.choice(
      "--sort", "KEY",
      "column to sort by: a word of torch.profiler (self_cpu_time_total, cuda_time_total, count ...), self-host, "
      "self-device, calls, or a column's key in --json",
      keys, options->sort);
  arguments.value("--limit", "", "N", "rows to show, 0 for all (default 20; with --csv and --json: all)",
                  options->limit);
  arguments.value("--depth", "", "N", "levels of a tree to show, 0 for all (default 0)", options->depth);
  arguments.value("--stack-depth", "", "N",
                  "innermost frames that distinguish the rows of op+stack, and that peak shows; 0 for all (default 0)",
                  options->stack_depth);
  arguments.value(
      "--range", "", "BEGIN:END",
      "with --by memory: what was allocated and released between two times since the start, such as 1500 (us), "
      "1.5ms or 2s; with --by slice: what overlaps them, and its time there; either may be left out",
      options->range);
  arguments.value("--at", "", "TIME", "with --by memory: what was allocated at that time, by operator and call stack",
                  options->at);
  declare_devices(arguments, options->devices);
  arguments.toggle("--csv", "", "print comma-separated values with a header", options->csv);
  arguments.toggle("--json", "", "print one JSON object; times in us, sizes in bytes, null for what is not known",
                   options->json);
  arguments.toggle("--plugin-compat", "", "compute as torch_tb_profiler 0.4.3 does, including its mistakes",
                   options->plugin);
  arguments.operands("PATH", "log directories, traces (torch.profiler's too) or recordings", 1, 0, options->paths);
  return [options] {
    if (options->csv && options->json) throw Error(Fault::usage, "--csv and --json exclude each other");
    return Stats(*options).run();
  };
}

}  // namespace tprof
