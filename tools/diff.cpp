// `tprof diff`: what changed from one run to another, and whether that is more than noise.
#include "base/printable.h"
#include "report/diff.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "base/error.h"
#include "command.h"
#include "inputs.h"

namespace tprof {
namespace {

struct DiffArguments {
  std::vector<std::string> paths;
  std::string fail_on, limit = "10";
  bool json = false, csv = false;
};

double percent_of(const std::string& text) {
  char* rest;
  double value = strtod(text.c_str(), &rest);
  if (rest == text.c_str() || (*rest && std::string(rest) != "%") || value < 0)
    throw Error(kExitUsage, "--fail-on-regression '" + text + "' is no percentage, such as 5%");
  return value / 100;
}

size_t rows_of(const std::string& text) {
  char* rest;
  long value = strtol(text.c_str(), &rest, 10);
  if (rest == text.c_str() || *rest || value < 0)
    throw Error(kExitUsage, "--limit '" + text + "' is no number of rows");
  return size_t(value);
}

DiffSide side_of(const std::string& path, int& code) {
  DiffSide side;
  Inputs inputs({path});
  int mine = inputs.each(false, [&](const Input&, const Model& model, const PluginTrace&) { side.add(model); });
  code = std::max(code, mine);
  return side;
}

void print_text(const Diff& diff, size_t most) {
  print(stdout, diff.story() + "\nA: " + std::to_string(diff.a_steps) + " steps, B: " + std::to_string(diff.b_steps) +
                    " steps\n");
  TextStyle style = text_style(stdout);
  for (u32 by = u32(DiffBy::category); by < kDiffBys; by++) {
    Table table = diff_table(diff, static_cast<DiffBy>(by), most);
    if (!table.rows.empty()) print(stdout, "\n" + text_of(table, style), style.color);
  }
  for (const std::string& note : diff.notes) print(stdout, "not known: " + note + "\n");
}

// Rows of all kinds in one table: the kind is the source's worker column's place.
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

int run(const DiffArguments& arguments) {
  double ratio = arguments.fail_on.empty() ? 0 : percent_of(arguments.fail_on);
  size_t most = rows_of(arguments.limit);
  int code = kExitOk;
  DiffSide a = side_of(arguments.paths[0], code), b = side_of(arguments.paths[1], code);
  Diff result = diff(a, b);
  if (arguments.json)
    print(stdout, dump(diff_json(result)) + "\n");
  else if (arguments.csv)
    print_csv(result);
  else
    print_text(result, most);
  if (code != kExitOk || arguments.fail_on.empty()) return code;
  switch (regression(result, ratio)) {
    case Regression::yes:
      return kExitFound;
    case Regression::unknown:
      complain("too few steps to tell a regression from noise; record at least " +
               std::to_string(Bootstrap::kLeastSteps) + " steps on each side");
      return kExitPartial;
    default:
      return kExitOk;
  }
}

}  // namespace

Action declare_diff(Arguments& arguments) {
  auto a = std::make_shared<DiffArguments>();
  arguments.value(
      "--fail-on-regression", "", "PERCENT",
      "exit with 1 if steps of B take longer by more than this, and by more than noise; 4 if that cannot be told",
      a->fail_on);
  arguments.value("--limit", "", "N", "rows of each table, 0 for all; default 10", a->limit);
  arguments.toggle("--csv", "", "print all rows as CSV", a->csv);
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.operands("PATH", "two runs: traces, recordings or log directories, A and B", 2, 2, a->paths);
  return [a] { return run(*a); };
}

}  // namespace tprof
