#include "analysis/diff/diff.h"

#include <algorithm>
#include <cmath>

#include "analysis/basis/printed.h"

namespace tprof {
namespace {

std::string ms(double ns) { return printed(std::fabs(ns) < 1e6 ? "%.4g ms" : "%.1f ms", ns / 1e6); }
std::string signed_ms(double ns) { return (ns >= 0 ? "+" : "") + ms(ns); }
std::string signed_percent(double ratio) { return printed("%+.1f %%", ratio * 100); }
std::string change_text(const DiffRow& row) {
  return ms(row.a_ns) + " -> " + ms(row.b_ns) + " (" + signed_percent(row.ratio()) + ")";
}

DiffRow row_of(DiffBy by, const std::string& name, const DiffSide::Entry* in_a, const DiffSide::Entry* in_b,
               const DiffSide& a, const DiffSide& b) {
  DiffRow row{by, name};
  row.in_a = in_a;
  row.in_b = in_b;
  if (in_a) row.a_ns = a.mean(in_a->ns), row.a_calls = in_a->calls / double(a.steps().size());
  if (in_b) row.b_ns = b.mean(in_b->ns), row.b_calls = in_b->calls / double(b.steps().size());
  return row;
}

SureInterval interval_of(const DiffRow& row, const DiffSide::Entry* in_a, const DiffSide::Entry* in_b,
                         const DiffSide& a, const DiffSide& b, bool of_runs) {
  auto sample = [&](const DiffSide& side, const DiffSide::Entry* entry) {
    return side.sample(entry ? entry->ns : StepValues(), of_runs);
  };
  return difference_of(sample(a, in_a), sample(b, in_b), row.a_ns, row.b_ns, kSure);
}

void choose_changed(std::vector<DiffRow>& rows, size_t begin) {
  std::vector<DiffRow*> by_chance;
  for (size_t i = begin; i < rows.size(); i++)
    if (rows[i].interval.known) by_chance.push_back(&rows[i]);
  std::sort(by_chance.begin(), by_chance.end(),
            [](const DiffRow* x, const DiffRow* y) { return x->interval.chance < y->interval.chance; });
  size_t chosen = 0;
  for (size_t i = 0; i < by_chance.size(); i++)
    if (by_chance[i]->interval.chance <= kFalseRows * double(i + 1) / double(by_chance.size())) chosen = i + 1;
  for (size_t i = 0; i < chosen; i++) by_chance[i]->changed = true;
}

void compare_second(Diff& out, const DiffSide& a, const DiffSide& b) {
  if (!out.of_runs) return;
  Sample of_a, of_b;
  if (std::max(a.longest_waiting(), b.longest_waiting()) > kWaitsMuch) {
    of_a = a.sample_less_waiting(), of_b = b.sample_less_waiting();
    out.asks = Diff::Second::less_waiting;
  }
  if (of_a.values.empty() || of_b.values.empty()) {
    for (const DiffSide* side : {&a, &b})
      for (const DiffSide::Run& run : side->runs())
        if (run.steps.size() < DiffSide::kTypicalSteps) {
          out.asks = Diff::Second::none;
          return;
        }
    of_a = a.typical_sample(), of_b = b.typical_sample();
    out.asks = Diff::Second::typical;
  }
  out.second = {DiffBy::step, out.asks == Diff::Second::typical
                                  ? "the middle half of the steps"
                                  : "the step without the time that its main thread waited for a CPU"};
  out.second.a_ns = mean_of(of_a.values), out.second.b_ns = mean_of(of_b.values);
  out.second.a_calls = out.second.b_calls = 1;
  out.second.interval = difference_of(of_a, of_b, out.second.a_ns, out.second.b_ns, kSureOfSecond);
  out.second.changed = out.second.interval.excludes_zero();
}

void compare_rows(Diff& out, const DiffSide& a, const DiffSide& b) {
  double worth = 0.001 * std::max(out.step.a_ns, out.step.b_ns);  // smaller differences are of no interest
  for (u32 by = 0; by < kDiffBys; by++) {
    size_t begin = out.rows.size();
    auto add = [&](const std::string& name, const DiffSide::Entry* left, const DiffSide::Entry* right) {
      DiffRow row = row_of(static_cast<DiffBy>(by), name, left, right, a, b);
      if (std::fabs(row.delta_ns()) >= worth) row.interval = interval_of(row, left, right, a, b, out.of_runs);
      out.rows.push_back(std::move(row));
    };
    const auto &of_a = a.of(static_cast<DiffBy>(by)), &of_b = b.of(static_cast<DiffBy>(by));
    for (const auto& [name, entry] : of_a) {
      auto other = of_b.find(name);
      add(name, &entry, other == of_b.end() ? nullptr : &other->second);
    }
    for (const auto& [name, entry] : of_b)
      if (!of_a.count(name)) add(name, nullptr, &entry);
    choose_changed(out.rows, begin);
    std::stable_sort(out.rows.begin() + i64(begin), out.rows.end(), [](const DiffRow& x, const DiffRow& y) {
      return std::fabs(x.delta_ns()) > std::fabs(y.delta_ns());
    });
  }
}

void compare_machines(Diff& out, const DiffSide& a, const DiffSide& b) {
  for (u32 f = 0; f < kMachineFigures; f++) {
    std::vector<double> of_a, of_b;
    for (const DiffSide::Run& run : a.runs())
      if (std::isfinite(run.machine[f])) of_a.push_back(run.machine[f]);
    for (const DiffSide::Run& run : b.runs())
      if (std::isfinite(run.machine[f])) of_b.push_back(run.machine[f]);
    if (of_a.empty() || of_b.empty()) continue;
    MachineDiff d{f, 0, 0};
    for (double v : of_a) d.a += v / double(of_a.size());
    for (double v : of_b) d.b += v / double(of_b.size());
    auto [a_low, a_high] = std::minmax_element(of_a.begin(), of_a.end());
    auto [b_low, b_high] = std::minmax_element(of_b.begin(), of_b.end());
    double limit = std::max(kMachineRows[f].least, kMachineRows[f].least_share * std::min(d.a, d.b));
    d.apart = std::max(*a_low - *b_high, *b_low - *a_high) > 0 && std::fabs(d.b - d.a) > limit;
    out.machine.push_back(d);
  }
}

// Whether all runs of one side came before those of the other: the machine may have changed meanwhile.
bool one_after_the_other(const DiffSide& a, const DiffSide& b) {
  constexpr i64 kSinceTheEpoch = 1'000'000'000'000'000'000;  // the year 2001; smaller times count from another origin
  i64 last[2] = {INT64_MIN, INT64_MIN}, first[2] = {INT64_MAX, INT64_MAX};
  const std::string& host = a.runs()[0].host;
  for (int i : {0, 1})
    for (const DiffSide::Run& run : (i ? b : a).runs()) {
      if (run.begin_ns < kSinceTheEpoch || run.host != host) return false;
      first[i] = std::min(first[i], run.begin_ns);
      last[i] = std::max(last[i], run.end_ns);
    }
  return last[0] < first[1] || last[1] < first[0];
}

void remark(Diff& out, const DiffSide& a, const DiffSide& b) {
  if (!out.of_runs)
    out.remarks.push_back(
        "one run on a side: how much runs of the same program differ is not known; three of each show "
        "it: tprof diff A1 A2 A3 --vs B1 B2 B3");
  double smallest = out.step.interval.smallest, of_all = out.step.a_ns;
  if (out.step.interval.known && of_all > 0) {
    std::string text = out.of_runs ? "a change of the step by " : "between the steps of these runs a change by ";
    text += share_text(smallest / of_all);
    if (out.second.interval.known)
      text += ", or of " + out.second.name + " by " + share_text(out.second.interval.smallest / out.second.a_ns) + ",";
    out.remarks.push_back(text + " would have been found in four of five such comparisons");
  }
  if (out.second.interval.known)
    out.remarks.push_back(out.second.name + ": " + change_text(out.second) +
                          (out.second.changed ? "" : ", no more than noise"));
  for (const Alike& all : out.alike)
    out.remarks.push_back("everything became " + printed("%.0f %%", std::fabs(all.ratio) * 100) +
                          (all.ratio < 0 ? " faster" : " slower") + " (half of the time of rows \"" +
                          diff_by_text(all.by) + "\" lies between " + signed_percent(all.low) + " and " +
                          signed_percent(all.high) +
                          "): the speed of the machine seems to have changed, rather than the program");
  if (out.of_runs && one_after_the_other(a, b))
    out.remarks.push_back(
        "all runs of one side came before those of the other: if the machine changed meanwhile, that "
        "counts as a change of the program; alternate the runs of A and B");
  for (const MachineDiff& d : out.machine)
    if (d.apart)
      out.remarks.push_back("the machine was not the same: " + std::string(kMachineRows[d.figure].text) + ": " +
                            printed("%.4g", d.a) + " in A, " + printed("%.4g", d.b) + " in B");
}

}  // namespace

Diff diff(const DiffSide& a, const DiffSide& b) {
  Diff out;
  out.a_steps = a.steps().size(), out.b_steps = b.steps().size();
  out.a_runs = a.runs().size(), out.b_runs = b.runs().size();
  for (const std::string& note : a.notes()) out.notes.push_back("A: " + note);
  for (const std::string& note : b.notes()) out.notes.push_back("B: " + note);
  if (!out.a_steps || !out.b_steps) {
    out.step.in_a = out.a_steps, out.step.in_b = out.b_steps;
    out.notes.push_back(std::string(out.a_steps ? "B" : "A") + " holds nothing to compare with");
    return out;
  }
  out.of_runs = out.fewest_runs() > 1;
  DiffSide::Entry all_a = a.all_steps(), all_b = b.all_steps();
  out.step = row_of(DiffBy::step, "step", &all_a, &all_b, a, b);
  out.step.interval = interval_of(out.step, &all_a, &all_b, a, b, out.of_runs);
  out.step.changed = out.step.interval.excludes_zero();
  if (!out.step.interval.known)
    out.notes.push_back("fewer than three steps on a side: changes cannot be told from noise");
  compare_second(out, a, b);
  compare_rows(out, a, b);
  out.tree = diff_tree(a.calls(), b.calls());
  for (DiffBy by : {DiffBy::operator_host, DiffBy::kernel})
    if (Alike found = alike(out.rows, by); found.found) out.alike.push_back(found);
  compare_machines(out, a, b);
  remark(out, a, b);
  return out;
}

Verdict Diff::verdict() const {
  if (!of_runs) return Verdict::unknown;
  return step.changed ? Verdict::changed : second.changed ? Verdict::second_changed : Verdict::noise;
}

const DiffRow* Diff::explains() const {
  const DiffRow* most = nullptr;
  double sign = step.delta_ns() < 0 ? -1 : 1;
  for (const DiffRow& row : rows)
    if (row.by == DiffBy::category && row.delta_ns() * sign > (most ? most->delta_ns() * sign : 0)) most = &row;
  return most;
}

std::string Diff::story() const {
  if (!a_steps || !b_steps) return "nothing to compare: " + std::string(a_steps ? "B" : "A") + " holds no step";
  std::string out = "step time " + change_text(step);
  std::string interval =
      " (95 % interval of the change " + signed_ms(step.interval.low) + " to " + signed_ms(step.interval.high) + ")";
  if (verdict() == Verdict::second_changed)
    return out + ", no more than the noise between runs" + interval + "; but " + second.name + " " +
           change_text(second);
  if (step.interval.known && !step.changed)
    return out + ": no more than the noise " + (of_runs ? "between runs" : "of these steps") + interval;
  if (!step.interval.known) out += ", noise unknown";
  if (const DiffRow* most = explains())
    out += ", mostly " + most->name + ": " + ms(most->a_ns) + " -> " + ms(most->b_ns);
  if (!of_runs) out += "; whether another run would show it is not known";
  return out;
}

Regression regression(const Diff& diff, double ratio, bool few_runs) {
  if (!diff.a_steps || !diff.b_steps) return Regression::unknown;
  if (!few_runs && diff.fewest_runs() < kRunsToDecide) return Regression::unknown;
  auto is_slower = [&](const DiffRow& row) { return row.ratio() > ratio && row.changed && row.delta_ns() > 0; };
  if (is_slower(diff.step) || is_slower(diff.second)) return Regression::yes;
  return diff.step.interval.known || diff.step.ratio() <= ratio ? Regression::no : Regression::unknown;
}

}  // namespace tprof
