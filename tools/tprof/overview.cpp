// `tprof overview` and `tprof steps`: where the time of each worker and span went, on average and in each step.
#include <stdio.h>

#include <set>

#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "input/jobs.h"
#include "json/json.h"
#include "plugin_compat/overview.h"
#include "report/communication.h"
#include "report/job_tables.h"
#include "report/overview.h"

namespace tprof {
namespace {

constexpr u32 kShownRanks = 64;  // in text

struct OverviewArguments {
  std::vector<std::string> paths;
  bool json = false, plugin = false, explain = false, all_ranks = false;
};

Json document(const OverviewArguments& arguments) {
  return {{"schema", 1}, {"rules", arguments.plugin ? "torch_tb_profiler" : "tprof"}, {"workers", Json::array()}};
}

std::vector<std::string> explained(const Model& model, const PluginTrace& trace) {
  try {
    return differences(model, trace, overview_of(model), plugin_overview(model, trace));
  } catch (const Error& e) {
    return {e.what()};  // the plugin does not show this trace
  }
}

// Prints the Overview of each worker, as text that `text` makes or as a JSON document whose parts `json` makes.
template <class Text, class ToJson>
int show(const OverviewArguments& arguments, Text text, ToJson json) {
  Inputs inputs(arguments.paths, arguments.plugin ? RuleSet::plugin : RuleSet::tprof);
  std::map<std::string, size_t> workers = workers_of(inputs.all());
  Json out = document(arguments);
  bool first = true;
  int code = inputs.each(arguments.plugin || arguments.explain,
                         [&](const Input& input, const Model& model, const PluginTrace& trace) {
                           Source source = source_of(input, model, arguments.plugin ? RuleSet::plugin : RuleSet::tprof);
                           Overview overview = arguments.plugin ? plugin_overview(model, trace) : overview_of(model);
                           std::vector<std::string> why;
                           if (arguments.explain) why = explained(model, trace);
                           if (arguments.json) {
                             Json one = json(overview, source, workers[input.run]);
                             if (arguments.explain) one["differences"] = why;
                             out["workers"].push_back(std::move(one));
                             return;
                           }
                           if (!first) print(stdout, "\n");
                           first = false;
                           TextStyle style = text_style(stdout);
                           print(stdout, text(overview, source, style), style.color);
                           for (const std::string& line : why)
                             print(stdout, "  torch_tb_profiler differs: " + line + "\n");
                         });
  if (arguments.json && code != kExitUnreadable) print(stdout, json_indented(out) + "\n");
  return code;
}

// All ranks of each job beside each other.
int all_ranks(const OverviewArguments& arguments) {
  if (arguments.plugin || arguments.explain)
    throw Error(Fault::usage, "--all-ranks cannot be used with --plugin-compat or --explain");
  Inputs inputs(arguments.paths);
  Jobs jobs;
  int code = add_ranks(inputs, jobs);
  if (code == kExitUnreadable) return code;
  Json out = {{"schema", 1}, {"rules", "tprof"}, {"jobs", Json::array()}};
  TextStyle style = text_style(stdout);
  for (const Job& job : jobs.all()) {
    Table ranks = ranks_table(job.found, job.ranks), stages = stages_table(job.found, job.ranks);
    if (arguments.json) {
      out["jobs"].push_back(
          {{"run", job.run}, {"span", job.span_text()}, {"ranks", json_of(ranks)}, {"stages", json_of(stages)}});
      continue;
    }
    ranks.title += "  " + job.run + "  span " + job.span_text();
    limit_rows(ranks, kShownRanks);
    print(stdout, text_of(ranks, style), style.color);
    if (job.found.compared) print(stdout, "\n" + text_of(stages, style), style.color);
  }
  if (arguments.json) print(stdout, json_indented(out) + "\n");
  return code;
}

int overview(const OverviewArguments& arguments) {
  if (arguments.all_ranks) return all_ranks(arguments);
  return show(arguments, overview_text, overview_json);
}

int steps(const OverviewArguments& arguments) {
  return show(
      arguments,
      [](const Overview& o, const Source& source, const TextStyle& style) {
        Table table = steps_table(o);
        table.title = source.title();
        return text_of(table, style);
      },
      [](const Overview& o, const Source& source, size_t) {
        return steps_json(o, source, [](const Table& table) { return json_of(table); });
      });
}

Action declare(Arguments& arguments, int (*run)(const OverviewArguments&)) {
  auto a = std::make_shared<OverviewArguments>();
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.toggle("--plugin-compat", "", "compute as torch_tb_profiler 0.4.3 does, including its mistakes", a->plugin);
  arguments.toggle("--explain", "", "list where torch_tb_profiler's figures differ, and why", a->explain);
  if (run == overview)
    arguments.toggle("--all-ranks", "", "the ranks of each job beside each other, instead of each one by itself",
                     a->all_ranks);
  arguments.operands("PATH", "traces, recordings or log directories", 1, 0, a->paths);
  return [a, run] { return run(*a); };
}

}  // namespace

Action declare_overview(Arguments& arguments) { return declare(arguments, overview); }
Action declare_steps(Arguments& arguments) { return declare(arguments, steps); }

}  // namespace tprof
