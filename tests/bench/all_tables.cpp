// Reads a trace once and shows everything that tprof makes of one: overview, steps, all of `tprof stats`, advice.
//
//     all_tables TRACE
#include <stdio.h>

#include "json/json.h"
#include "kineto/read/read.h"
#include "report/advice.h"
#include "report/overview.h"
#include "report/stats_tables.h"
#include "tools/tprof/exit_codes.h"

using namespace tprof;

namespace {

void show(const std::string& text) { fputs(text.c_str(), stdout); }

void show_all(const Model& model) {
  const Source source{"run", "worker", "span"};
  const TextStyle style = text_style(stdout);
  std::vector<DevicePeak> devices = device_table();
  Facts facts(model, devices);
  show(overview_text(facts.overview, source, style));
  show(advice_text(facts, advise(facts), source, SIZE_MAX, style));

  OpTree tree = build_op_tree(model);
  std::vector<WorkerTable> tables;
  auto add = [&](Table table) { tables.push_back({source, std::move(table)}); };
  add(steps_table(facts.overview));
  for (OperatorKey key : {OperatorKey::name, OperatorKey::shape, OperatorKey::stack, OperatorKey::shape_stack})
    add(operators_table(model, operators(model, tree, key), key, RuleSet::tprof));
  add(kernels_table(kernels_by_name(model, RuleSet::tprof), false, RuleSet::tprof));
  add(kernels_table(kernels_by_op(model, tree), true, RuleSet::tprof));
  add(modules_table(module_tree(model, tree), true));
  add(memory_table(model, tree, memory_sums(model, tree)));
  add(memory_events_table(model, tree, MemoryRange{}));
  for (const WorkerTable& table : tables) show(text_of(table.table, style));
  show(json_line(memory_curves_json(model)));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return kExitUsage;
  show_all(kineto::read_trace(argv[1]));
  return kExitOk;
} catch (const Error& e) {
  fprintf(stderr, "all_tables: %s\n", e.what());
  return kExitUnreadable;
}
