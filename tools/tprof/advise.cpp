// `tprof advise`: what to change, by worker and span, and with several ranks which of them the others wait for.
#include <stdio.h>

#include "base/error.h"
#include "base/printable.h"
#include "cli/device_peaks.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "input/jobs.h"
#include "json/json.h"
#include "report/advice.h"
#include "report/communication.h"

namespace tprof {
namespace {

struct AdviseArguments {
  std::vector<std::string> paths;
  std::string fail_on, devices;
  bool json = false, all = false;
};

int run(const AdviseArguments& arguments) {
  if (!arguments.fail_on.empty() && arguments.fail_on != "high" && arguments.fail_on != "moderate")
    throw Error(Fault::usage, "--fail-on '" + arguments.fail_on + "' is not high or moderate");
  std::vector<DevicePeak> table = device_peaks(arguments.devices);
  Grade limit = arguments.fail_on == "high" ? Grade::high : Grade::moderate;
  bool found = false, first = true;
  Json out = {{"schema", 1}, {"workers", Json::array()}};
  Inputs inputs(arguments.paths);
  Jobs jobs = jobs_of(inputs);
  int code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
    Facts facts(model, table);
    facts.rank = jobs.facts_of(input);
    std::vector<Advice> advice = advise(facts);
    for (const Advice& a : advice) found |= a.grade >= limit && !a.minor;
    Source source = source_of(input, model);
    if (arguments.json) {
      out["workers"].push_back(advice_json(facts, advice, source));
      return;
    }
    if (!first) print(stdout, "\n");
    first = false;
    TextStyle style = text_style(stdout);
    size_t count = arguments.all ? advice.size() : count_to_show(advice, kMaxAdvice);
    print(stdout, advice_text(facts, advice, source, count, style), style.color);
  });
  for (const Job& job : jobs.all()) {
    if (arguments.json) {
      out["stragglers"].push_back(stragglers_json(job));
      continue;
    }
    std::vector<std::string> lines = waiting_lines(job.found, job.ranks);
    lines.insert(lines.end(), job.doubts.begin(), job.doubts.end());
    for (const std::string& line : lines)
      print(stdout, "\n" + job.run + "  span " + job.span_text() + ": " + line + "\n");
  }
  code = jobs.code_with_doubts(code);
  if (arguments.json && code != kExitUnreadable) print(stdout, json_indented(out) + "\n");
  return code == kExitOk && found && !arguments.fail_on.empty() ? int(kExitFound) : code;
}

}  // namespace

Action declare_advise(Arguments& arguments) {
  auto a = std::make_shared<AdviseArguments>();
  arguments.choice("--fail-on", "WORD",
                   "exit with 1 if there are findings of this severity: high, or moderate (includes high)",
                   {"high", "moderate"}, a->fail_on);
  declare_devices(arguments, a->devices);
  arguments.toggle("--all", "", "show all findings, not only the first seven, and also those that would save 0 %",
                   a->all);
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.operands("PATH", "traces, recordings or log directories", 1, 0, a->paths);
  return [a] { return run(*a); };
}

}  // namespace tprof
