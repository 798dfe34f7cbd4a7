#include "report/summary.h"

#include <math.h>

#include <algorithm>
#include <sstream>

#include "analysis/tables/kernels.h"
#include "report/advice.h"
#include "report/fit.h"
#include "report/overview.h"

namespace tprof {
namespace {

constexpr double kLeastPercent = 0.05;  // a category below it has no line
constexpr double kWorthALine = 5;       // what follows a loop, in percent of the trace
constexpr int kIndent = 2, kBarCells = 24, kBarRoom = 72;
constexpr size_t kNameWidth = 14, kTimeWidth = 11;

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += (line.empty() ? "" : std::string(kIndent, ' ')) + line + "\n";
  return out;
}

// In eighths of a cell.
std::string bar(double share) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto eighths = static_cast<int>(lround(std::clamp(share, 0.0, 1.0) * kBarCells * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; i++) out += "█";
  return out + kEighths[eighths % 8];
}

std::string headline(const Overview& overview, bool has_steps, const SummarySubject& subject, const TextStyle& style) {
  std::string time = time_text(whole_ns(overview.average.us)), count = steps_text(overview);
  std::string out = !has_steps          ? "No steps were found; all of it: " + time
                    : count == "1 step" ? "One step: " + time
                                        : "Average of " + count + ": " + time;
  if (style.color) out = "\033[1m" + out + "\033[0m";
  if (std::string spread = spread_text(overview); !spread.empty()) out += ", " + spread;
  return out + (subject.which.empty() ? "" : "  (" + subject.which + ")") + "\n";
}

std::string breakdown(const Overview& overview, const TextStyle& style) {
  std::string out;
  bool bars = style.terminal && style.utf8 && style.width >= kBarRoom;
  for (u32 c = 0; c < kCategories; c++) {
    auto category = static_cast<Category>(c);
    double us = overview.average.by[c], share = overview.average.us > 0 ? us / overview.average.us : 0;
    if (!overview.shows(category) || 100 * share < kLeastPercent) continue;
    std::string name = category_text(category), time = time_text(whole_ns(us));
    name.resize(kNameWidth, ' ');
    out += name + std::string(kTimeWidth - std::min(kTimeWidth, time.size()), ' ') + time +
           printed("%7.1f %%", 100 * share);
    if (std::string drawn = bar(share); bars && !drawn.empty()) out += "  " + drawn;
    out += "\n";
  }
  return out;
}

// By device time, or host time without a GPU. For a program without operators (CUDA without torch): kernels.
Table top_operators(const Facts& facts, const Operators& operators) {
  bool device = facts.gpu != nullptr;
  Table out{"",
            {{"name", "Top operators", Unit::function},
             {"self", device ? "On the GPU" : "Self CPU", Unit::time},
             {"share", "Share", Unit::percent},
             {"calls", "Calls", Unit::count}}};
  auto add = [&](const std::string& name, i64 ns, i64 all, u64 calls) {
    if (ns > 0) out.rows.push_back({name, ns, 100.0 * double(ns) / double(all), i64(calls)});
  };
  for (const OperatorRow& row : operators.rows)
    if (row.kind == NodeKind::op || (device && row.kind == NodeKind::label))
      add(row.name, device ? row.device_self_ns : row.host_self_ns,
          device ? operators.device_self_ns : operators.host_self_ns, row.calls);
  if (out.rows.empty() && device) {
    out.columns[0].title = "Top kernels";
    Kernels kernels = kernels_by_name(facts.model, RuleSet::tprof);
    for (const KernelRow& row : kernels.rows) add(row.name, row.total_ns, kernels.total_ns, row.calls);
  }
  sort_rows(out, 1);
  if (out.rows.size() > kSummaryOperators) out.rows.resize(kSummaryOperators);
  return out;
}

// If ranks wait for another one, that is listed as the first thing to change.
Table top_findings(const Facts& facts, const std::vector<Advice>& advice, bool waiting) {
  Table out{"",
            {{"title", "What to change", Unit::text},
             {"grade", "", Unit::text, 1},
             {"share", "Of the step", Unit::percent, 0, Sense::fault},
             {"saving", "May save", Unit::time}}};
  size_t shown = count_to_show(advice, kSummaryFindings);
  for (size_t i = 0; i < shown; i++) {
    const Match& match = advice[i].match;
    out.rows.push_back({std::string(advice[i].rule->title), std::string(grade_word(advice[i].grade)),
                        match.share >= 0 ? Value(100 * match.share) : Value(),
                        match.saving_ns >= 0 ? Value(i64(match.saving_ns)) : Value()});
  }
  if (facts.died_early)
    out.footer.push_back("The program died in its first step: what to change is not known.");
  else if (!shown && !waiting)
    out.footer.push_back("Nothing was found that is worth a change.");
  if (size_t all = count_to_show(advice, advice.size()); all > shown)
    out.footer.push_back("and " + std::to_string(all - shown) + " more: tprof advise");
  return out;
}

// What is printed first: a restriction, and of several ranks who waits for whom.
std::string preface(const SummarySubject& subject, const TextStyle& style) {
  Table table{"", {}, {}, subject.waiting};
  if (!subject.covers.empty()) table.footer.insert(table.footer.begin(), subject.covers);
  return text_of(table, style);
}

// What is printed last. `own_cost`: empty if it is not known.
std::string closing(double waited, const std::string& own_cost, const SummarySubject& subject, const TextStyle& style) {
  Table rest;
  if (std::string busy = busy_text(waited); !busy.empty()) rest.footer.push_back("note: " + busy);
  if (!own_cost.empty()) rest.footer.push_back(own_cost);
  if (subject.dropped) rest.footer.push_back(std::to_string(subject.dropped) + " events were not recorded: tprof info");
  rest.footer.push_back("More: " + subject.more);
  return text_of(rest, style);
}

// The page is indented as a whole.
TextStyle style_within(TextStyle style) {
  if (style.width > kIndent) style.width -= kIndent;
  style.rules = false;
  return style;
}

}  // namespace

std::string summary_text(const Facts& facts, const std::vector<Advice>& advice, const Operators& operators,
                         const SummarySubject& subject, TextStyle style) {
  if (facts.model.empty() || facts.overview.steps.empty()) return "";
  style = style_within(style);
  std::string out = preface(subject, style) + headline(facts.overview, facts.windows.has_steps, subject, style) +
                    breakdown(facts.overview, style);
  if (facts.overview.other) out += other_line(*facts.overview.other) + "\n";
  for (const std::string& line : stretch_lines(facts.overview, kWorthALine)) out += line + "\n";
  for (const Table& table : {top_operators(facts, operators), top_findings(facts, advice, !subject.waiting.empty())})
    if (std::string text = text_of(table, style); !text.empty()) out += "\n" + text;
  return indented(wrapped_lines(out + "\n", style.width) +
                  closing(facts.waited, own_cost_line(facts.overview), subject, style));
}

std::string steps_summary_text(const StepsSubject& steps, const SummarySubject& subject, TextStyle style) {
  style = style_within(style);
  Overview overview;
  overview.steps = steps.steps;
  overview.counted.steps = steps.all;
  if (steps.steps.empty()) overview.steps.push_back({"all", steps.span_us, {}});
  overview.average = average_of(overview.steps);
  std::string out = preface(subject, style) + headline(overview, !steps.steps.empty(), subject, style);
  return indented(wrapped_lines(out, style.width) + closing(steps.waited, "", subject, style));
}

}  // namespace tprof
