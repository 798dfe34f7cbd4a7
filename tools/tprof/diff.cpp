// `tprof diff`: what changed from one run to another, and whether that is more than noise.
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "input/trace_file.h"
#include "json/json.h"
#include "plugin_compat/diff.h"
#include "plugin_compat/tree.h"
#include "report/diff.h"
#include "report/flame_tables.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

const TableJson kWhole = [](const Table& table) { return json_of(table); };
constexpr char kHowTo[] = "tprof diff A B, or with several runs of each tprof diff A1 A2 A3 --vs B1 B2 B3";

struct DiffArguments {
  std::vector<std::string> paths, versus;  // before and after --vs
  std::string fail_on, limit = "10";
  bool few_runs = false, json = false, csv = false, plugin = false;
};

double percent_of(const std::string& text) {
  char* rest;
  double value = strtod(text.c_str(), &rest);
  if (rest == text.c_str() || (*rest && std::string(rest) != "%") || value < 0)
    throw Error(Fault::usage, "--fail-on-regression '" + text + "' is not a percentage, such as 5%");
  return value / 100;
}

size_t rows_of(const std::string& text) {
  char* rest;
  long value = strtol(text.c_str(), &rest, 10);
  if (rest == text.c_str() || *rest || value < 0)
    throw Error(Fault::usage, "--limit '" + text + "' is not a number of rows");
  return size_t(value);
}

// The paths of A and of B.
std::pair<std::vector<std::string>, std::vector<std::string>> sides_of(const DiffArguments& arguments) {
  const std::vector<std::string>& paths = arguments.paths;
  if (!arguments.versus.empty()) return {paths, arguments.versus};
  if (paths.size() == 1)
    throw Error(Fault::usage, "only one run is given, and a comparison needs two: " + std::string(kHowTo));
  if (paths.size() > 2)
    throw Error(Fault::usage, std::to_string(paths.size()) +
                                  " runs are given, but not which of them are A and which are B: " + kHowTo);
  return {{paths[0]}, {paths[1]}};
}

// The name of the run of a trace: its directory. Several windows of one process that are given as files are one run.
std::string run_of(const std::string& path, const Input& input) {
  return input.directory + (is_directory(path) ? "" : "/" + input.worker);
}

DiffSideReader side_of(const std::vector<std::string>& paths, bool flames, int& code) {
  DiffSideReader side;
  const std::vector<DevicePeak> no_peaks;
  for (const std::string& path : paths) {
    Inputs inputs({path});
    side.expect(inputs.all());
    int mine = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace& trace) {
      side.add(path, input, model);
      if (flames) side.add_flames(path, input, StatsSubject(model, trace, RuleSet::tprof, 0, no_peaks));
    });
    code = std::max(code, mine);
  }
  return side;
}

std::string size_text(const char* side, size_t runs, size_t steps) {
  auto counted = [](size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
  return std::string(side) + ": " + counted(runs, "run") + ", " + counted(steps, "step");
}

void print_text(const Diff& diff, size_t most) {
  print(stdout, diff.story() + "\n" + size_text("A", diff.a_runs, diff.a_steps) + "; " +
                    size_text("B", diff.b_runs, diff.b_steps) + "\n");
  for (const std::string& remark : diff.remarks) print(stdout, "* " + remark + "\n");
  TextStyle style = text_style(stdout);
  for (u32 by = u32(DiffBy::category); by < kDiffBys; by++) {
    Table table = diff_table(diff, static_cast<DiffBy>(by), most);
    if (!table.rows.empty()) print(stdout, "\n" + text_of(table, style), style.color);
  }
  if (Table machine = diff_machine_table(diff); !machine.rows.empty())
    print(stdout, "\n" + text_of(machine, style), style.color);
  for (const std::string& note : diff.notes) print(stdout, "not known: " + note + "\n");
}

// Prints the rows of all kinds in one table, with the kind in its first column.
void print_csv(const Diff& diff) {
  Table all{"", {{"by", "", Unit::text}}};
  for (u32 by = u32(DiffBy::category); by < kDiffBys; by++) {
    Table table = diff_table(diff, static_cast<DiffBy>(by), 0);
    if (all.columns.size() == 1) all.columns.insert(all.columns.end(), table.columns.begin(), table.columns.end());
    for (std::vector<Value>& row : table.rows) {
      row.insert(row.begin(), std::string(diff_by_word(static_cast<DiffBy>(by))));
      all.rows.push_back(std::move(row));
    }
  }
  print(stdout, csv_of({{{}, std::move(all)}}));
}

int decide(const Diff& result, double ratio, bool few_runs) {
  switch (regression(result, ratio, few_runs)) {
    case Regression::yes: return kExitFound;
    case Regression::unknown:
      complain(!few_runs && result.fewest_runs() < kRunsToDecide
                   ? "too few runs to tell a regression from the noise between runs of the same program; give " +
                         std::to_string(kRunsToDecide) + " of each (A1 A2 A3 --vs B1 B2 B3), or --few-runs"
                   : "too few steps to tell a regression from noise; record at least three steps on each side");
      return kExitPartial;
    default: break;
  }
  auto could_find = [&](const DiffRow& row) { return row.interval.known && row.interval.smallest <= ratio * row.a_ns; };
  if (!could_find(result.step) && !could_find(result.second))
    complain("no regression was found, but the noise is so large that one of " +
             std::string(printed("%.1f %%", 100 * ratio)) + " could have been missed");
  return kExitOk;
}

// One trace, by the plugin's rules.
struct PluginSide {
  Source source;
  PluginDiffSide calls;
};

PluginSide plugin_side_of(const std::vector<std::string>& paths) {
  PluginSide side;
  Inputs inputs(paths, RuleSet::plugin);
  if (inputs.all().size() != 1)
    throw Error(Fault::usage, "the plugin compares one worker and span with another, but there are " +
                                  std::to_string(inputs.all().size()) + " traces in " + paths[0] +
                                  "; give one of them");
  inputs.each(true, [&](const Input& input, const Model& model, const PluginTrace& trace) {
    if (trace.is_list) throw Error(Fault::unreadable, "the plugin drops the file: a list of events");
    side = {source_of(input, model, RuleSet::plugin), plugin_diff_side(model, build_plugin_tree(model, trace))};
  });
  return side;
}

int run_plugin(const DiffArguments& arguments) {
  auto [of_a, of_b] = sides_of(arguments);
  PluginSide a = plugin_side_of(of_a), b = plugin_side_of(of_b);
  DiffTree tree = plugin_diff_tree(a.calls, b.calls);
  if (arguments.json) {
    Json out = {{"schema", 1}, {"rules", "torch_tb_profiler"}, {"a", json_of(a.source)}, {"b", json_of(b.source)}};
    out.update(diff_tree_json(tree, kWhole));
    print(stdout, json_indented(out) + "\n");
    return kExitOk;
  }
  Table nodes = diff_tree_table(tree), totals = diff_totals_table(tree);
  if (arguments.csv) {
    print(stdout, csv_of({{{}, std::move(nodes)}}));
    return kExitOk;
  }
  std::erase_if(totals.rows, [](const auto& row) { return row[0] != Value(i64{0}); });
  limit_tree(nodes, 0, rows_of(arguments.limit), {}, " (--limit 0 shows all)");
  sort_rows(totals, size_t(totals.column("a_host_total_duration")));
  limit_rows(totals, rows_of(arguments.limit));
  TextStyle style = text_style(stdout);
  for (const Table* table : {&nodes, &totals}) print(stdout, text_of(*table, style) + "\n", style.color);
  return kExitOk;
}

int run(const DiffArguments& arguments) {
  if (arguments.plugin) return run_plugin(arguments);
  double ratio = arguments.fail_on.empty() ? 0 : percent_of(arguments.fail_on);
  size_t most = rows_of(arguments.limit);
  auto [of_a, of_b] = sides_of(arguments);
  int code = kExitOk;
  DiffSideReader a = side_of(of_a, arguments.json, code), b = side_of(of_b, arguments.json, code);
  Diff result = diff(a.finish(), b.finish());
  if (arguments.json) {
    Json out = diff_json(result, kWhole);
    out["flames"] = flame_diffs_json(flame_diffs(a.flames(), b.flames()), kWhole);
    print(stdout, json_indented(out) + "\n");
  } else if (arguments.csv) {
    print_csv(result);
  } else {
    print_text(result, most);
  }
  if (code != kExitOk || arguments.fail_on.empty()) return code;
  return decide(result, ratio, arguments.few_runs);
}

}  // namespace

void DiffSideReader::expect(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) {
    std::error_code why;
    fs::path whole = fs::canonical(input.path, why);
    if (!why && !seen_.insert(whole.string()).second)
      throw Error(Fault::usage, input.path + " is given twice on one side and would count as two runs");
  }
}

void DiffSideReader::add(const std::string& path, const Input& input, const Model& model) {
  side_.add(model, run_of(path, input));
}

void DiffSideReader::add_flames(const std::string& path, const Input& input, const StatsSubject& stats) {
  FlameInput from = stats.flame_input();
  from.steps_only = true;
  flames_.add(run_of(path, input), flame_trees(from), stats.windows().steps.size());
}

DiffSide DiffSideReader::finish() {
  side_.finish();
  return std::move(side_);
}

Action declare_diff(Arguments& arguments) {
  auto a = std::make_shared<DiffArguments>();
  arguments.value("--fail-on-regression", "", "PERCENT",
                  "exit with 1 if steps of B take longer by more than this and by more than noise; with 4 if that "
                  "cannot be decided, for example with fewer than three runs on a side",
                  a->fail_on);
  arguments.toggle("--few-runs", "",
                   "let --fail-on-regression decide with fewer than three runs on a side; with one run, from its steps",
                   a->few_runs);
  arguments.value("--limit", "", "N", "rows of each table, 0 for all; default 10", a->limit);
  arguments.toggle("--csv", "", "print all rows as CSV", a->csv);
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.toggle("--plugin-compat", "", "print the Diff view of torch_tb_profiler 0.4.3, including its mistakes",
                   a->plugin);
  arguments.operands("PATH", "runs: traces, recordings or log directories; A and B, or A... --vs B...", 1, 0, a->paths);
  arguments.operands_after("--vs", "what comes before it is A, what comes after it B", a->versus);
  return [a] { return run(*a); };
}

}  // namespace tprof
