// `tprof overview` and `tprof steps`: where the time of each worker and span went, on average and in each step.
#include <stdio.h>

#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "plugin_compat/overview.h"
#include "report/overview.h"

namespace tprof {
namespace {

struct OverviewArguments {
  std::vector<std::string> paths;
  bool json = false, plugin = false, explain = false;
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

int overview(const OverviewArguments& arguments) { return show(arguments, overview_text, overview_json); }

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
  arguments.operands("PATH", "traces, recordings or log directories", 1, 0, a->paths);
  return [a, run] { return run(*a); };
}

}  // namespace

Action declare_overview(Arguments& arguments) { return declare(arguments, overview); }
Action declare_steps(Arguments& arguments) { return declare(arguments, steps); }

}  // namespace tprof
