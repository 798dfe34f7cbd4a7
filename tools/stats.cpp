// `tprof stats`: tables of operators, kernels, memory and modules, for people, as CSV or as JSON.
//
// JSON, schema 1 (keys are only ever added): {"schema", "by", "rules", "workers": [{"run", "worker", "span", "sort", "columns":
// [{"key", "title", "unit"}], "n_rows", "rows": [{key: value}], "notes"}]}; with --by memory each worker also has
// "events" (a table) and "curve". Times are microseconds, sizes bytes, what is not known is null.
#include <stdio.h>

#include "base/error.h"
#include "command.h"
#include "inputs.h"
#include "report/stats_tables.h"

namespace tprof {
namespace {

enum class By : u8 { op, op_shape, op_stack, kernel, kernel_op, module, memory };

struct ByWord {
  const char* word;
  By by;
  const char* sort;  // the first of these columns that the table has; "" none: as it comes
  const char* without_device;
};
constexpr ByWord kBy[] = {
    {"op", By::op, "device_self_duration", "host_self_duration"},
    {"op+shape", By::op_shape, "device_self_duration", "host_self_duration"},
    {"op+stack", By::op_stack, "device_self_duration", "host_self_duration"},
    {"kernel", By::kernel, "total_duration", ""},
    {"kernel+op", By::kernel_op, "total_duration", ""},
    {"module", By::module, "", ""},
    {"memory", By::memory, "self_size_increase", ""},
};

// What --sort understands beside the keys of columns: torch.profiler's words, and short ones.
struct SortWord {
  const char *word, *key;
};
constexpr SortWord kSort[] = {
    {"self_cpu_time_total", "host_self_duration"},     {"cpu_time_total", "host_total_duration"},
    {"cpu_time", "host_mean_duration"},                {"self_cuda_time_total", "device_self_duration"},
    {"cuda_time_total", "device_total_duration"},      {"cuda_time", "device_mean_duration"},
    {"self_device_time_total", "device_self_duration"},{"device_time_total", "device_total_duration"},
    {"device_time", "device_mean_duration"},           {"self_device_memory_usage", "self_cuda_memory_usage"},
    {"device_memory_usage", "cuda_memory_usage"},      {"count", "calls"},
    {"self-host", "host_self_duration"},               {"host", "host_total_duration"},
    {"self-cpu", "host_self_duration"},                {"cpu", "host_total_duration"},
    {"self-device", "device_self_duration"},           {"device", "device_total_duration"},
    {"self-cuda", "device_self_duration"},             {"cuda", "device_total_duration"},
    {"total", "total_duration"},                       {"mean", "mean_duration"},
    {"max", "max_duration"},                           {"min", "min_duration"},
    {"self-memory", "self_size_increase"},             {"memory", "size_increase"},
};

struct Options {
  std::vector<std::string> paths;
  std::string by = "op", sort, limit, stack_depth = "0";
  bool csv = false, json = false, plugin = false;
};

u32 number_of(const std::string& flag, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9)
    throw Error(kExitUsage, flag + " '" + text + "' is not a number");
  return static_cast<u32>(std::stoul(text));
}

const ByWord& by_word(const std::string& word) {
  std::vector<std::string> words;
  std::string all;
  for (const ByWord& by : kBy) {
    if (word == by.word) return by;
    words.push_back(by.word);
    all += (all.empty() ? "" : ", ") + std::string(by.word);
  }
  throw Error(kExitUsage, "--by '" + word + "' is none of " + all);
}

class Stats {
 public:
  explicit Stats(const Options& options)
      : options_(options),
        by_(by_word(options.by)),
        rules_(options.plugin ? Rules::plugin : Rules::tprof),
        limit_(!options.limit.empty() ? number_of("--limit", options.limit) : options.csv || options.json ? 0 : 20),
        depth_(number_of("--stack-depth", options.stack_depth)) {
    if (options.plugin && by_.by == By::module) throw Error(kExitUsage, "--plugin-compat has no table of modules");
  }

  int run() {
    Inputs inputs(options_.paths);
    int code = inputs.each(options_.plugin, [&](const Input& input, const Model& model, const PluginTrace& trace) {
      if (usage_.empty()) add({input.run, input.worker, input.span}, model, trace);
    });
    if (!usage_.empty()) throw Error(kExitUsage, usage_);
    if (code == kExitUnreadable) return code;
    if (options_.json)
      puts(dump({{"schema", 1}, {"by", by_.word}, {"rules", options_.plugin ? "torch_tb_profiler" : "tprof"},
                 {"workers", workers_}}).c_str());
    else if (options_.csv)
      fputs(csv_of(tables_).c_str(), stdout);
    return code;
  }

 private:
  void add(const Source& source, const Model& model, const PluginTrace& trace) {
    OpTree tree = options_.plugin ? build_plugin_tree(model, trace) : build_op_tree(model);
    Table table = table_of(model, tree);
    std::string sorted = sort(table);
    if (!usage_.empty()) return;
    limit_rows(table, limit_);
    if (options_.json) {
      Json worker = json_of(source);
      worker["sort"] = sorted.empty() ? Json() : Json(sorted);
      worker.update(json_of(table));
      if (by_.by == By::memory) {
        worker["events"] = json_of(memory_events_table(model, tree));
        worker["curve"] = memory_curves_json(model);
      }
      workers_.push_back(std::move(worker));
    } else if (options_.csv) {
      tables_.push_back({source, std::move(table)});
    } else {
      table.title += "  " + source.run + " / " + source.worker + " / span " + source.span;
      printf("%s%s", shown_++ ? "\n" : "", text_of(table, text_style(stdout)).c_str());
    }
  }

  Table table_of(const Model& model, const OpTree& tree) const {
    bool has_device = false;
    for (const GpuEvent& work : model.gpu) has_device |= work.runs_on_gpu();
    auto of_operators = [&](OperatorKey key) {
      return operators_table(model, operators(model, tree, key, depth_), key, rules_);
    };
    switch (by_.by) {
      case By::op: return of_operators(OperatorKey::name);
      case By::op_shape: return of_operators(OperatorKey::shape);
      case By::op_stack: return of_operators(OperatorKey::stack);
      case By::kernel: return kernels_table(kernels_by_name(model, rules_), false, rules_);
      case By::kernel_op: return kernels_table(kernels_by_op(model, tree), true, rules_);
      case By::module: return modules_table(module_tree(model, tree), has_device);
      case By::memory: return memory_table(model, tree);
    }
    return {};
  }

  // Returns the key that rows are sorted by.
  std::string sort(Table& table) {
    if (options_.sort.empty()) {
      if (options_.plugin && by_.by == By::memory) return "name";  // as it comes: by device, then by name
      for (const char* key : {by_.sort, by_.without_device})
        if (int column = table.column(key); column >= 0) return sort_rows(table, static_cast<size_t>(column)), key;
      return "";
    }
    std::string key = options_.sort;
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

  const Options& options_;
  const ByWord& by_;
  Rules rules_;
  u32 limit_, depth_;
  u32 shown_ = 0;
  std::string usage_;  // what is wrong with the command line, seen once there was a table
  Json workers_ = Json::array();
  std::vector<WorkerTable> tables_;
};

}  // namespace

Action declare_stats(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.value("--by", "", "WHAT", "op, op+shape, op+stack, kernel, kernel+op, module or memory (default op)", options->by);
  arguments.value("--sort", "", "KEY",
                  "torch.profiler's words (self_cpu_time_total, cuda_time_total, count ...), self-host, self-device, calls, "
                  "or a column's key in --json", options->sort);
  arguments.value("--limit", "", "N", "rows to show, 0 all (default 20; --csv and --json: all)", options->limit);
  arguments.value("--stack-depth", "", "N", "innermost frames that tell rows of op+stack apart, 0 all (default 0)",
                  options->stack_depth);
  arguments.toggle("--csv", "", "comma-separated values with a header", options->csv);
  arguments.toggle("--json", "", "one JSON object; times in us, sizes in bytes, null where nothing is known", options->json);
  arguments.toggle("--plugin-compat", "", "the figures of torch_tb_profiler 0.4.3, its mistakes included", options->plugin);
  arguments.operands("PATH", "log directories, traces (torch.profiler's too) or recordings", 1, 0, options->paths);
  return [options] {
    if (options->csv && options->json) throw Error(kExitUsage, "--csv and --json exclude each other");
    return Stats(*options).run();
  };
}

}  // namespace tprof
