#include "analysis/diff/side.h"

#include <algorithm>
#include <cmath>

#include "analysis/basis/op_tree.h"
#include "analysis/basis/windows.h"
#include "analysis/time/overview.h"

namespace tprof {
namespace {

// Consecutive steps are correlated, because slow phases last. Five to ten blocks of at least four steps remove most of
// that; a few steps are used one by one.
constexpr size_t kMinBlocks = 3, kBlocksOfOne = 5, kStepsInBlock = 4, kMaxBlocks = 10;

size_t blocks_for(size_t steps) {
  if (steps < kMinBlocks) return 0;
  if (steps <= kBlocksOfOne) return steps;
  return std::clamp(steps / kStepsInBlock, kBlocksOfOne, kMaxBlocks);
}

// The variance of the mean of these values.
double variance_of_mean(const std::vector<double>& values) {
  double mean = mean_of(values), sum = 0;
  for (double v : values) sum += (v - mean) * (v - mean);
  auto n = double(values.size());
  return sum / (n - 1) / n;
}

double middle_half(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto quarter = i64(values.size() / 4);
  return mean_of({values.begin() + quarter, values.end() - quarter});
}

double waiting_of(const DiffSide::Run& run) { return run.machine[u32(MachineFigure::waited)]; }

}  // namespace

const char* diff_by_text(DiffBy by) {
  static constexpr const char* kTexts[] = {
#define DIFF_BY(name, text, time) text,
      TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
  };
  return kTexts[u32(by)];
}

const char* diff_by_word(DiffBy by) {
  static constexpr const char* kWords[] = {
#define DIFF_BY(name, text, time) #name,
      TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
  };
  return kWords[u32(by)];
}

void DiffSide::count(DiffBy by, const std::string& name, u32 step, double ns) {
  Entry& entry = entries_[u32(by)][name];
  entry.calls++;
  if (!entry.ns.empty() && entry.ns.back().step == step)
    entry.ns.back().value += ns;
  else
    entry.ns.push_back({step, ns});
}

void DiffSide::add(const Model& model, const std::string& run_name) {
  if (model.before_training) {
    notes_.push_back("steps that were counted before the program began to train are left out");
    return;
  }
  Overview overview = overview_of(model);
  for (const std::string& note : overview.notes) notes_.push_back(note);
  if (overview.steps.empty()) return;
  auto [known, is_new] = run_numbers_.try_emplace(run_name, u32(runs_.size()));
  if (is_new) {
    runs_.emplace_back().machine = no_machine_figures();
    machine_counts_.emplace_back();
    trees_.emplace_back();
  }
  u32 number = known->second;
  Run& run = runs_[number];
  run.host = model.host;
  add_machine(model, run);
  Windows windows = windows_of(model);
  u32 first = u32(steps_.size());
  for (u32 s = 0; s < overview.steps.size(); s++) {
    run.steps.push_back(first + s);
    steps_.push_back({number, i64(model.base_time_ns) + windows.steps[s].begin, overview.steps[s].us * 1000});
    for (u32 c = 0; c < kCategories; c++)
      if (auto category = static_cast<Category>(c); overview.shows(category))
        count(DiffBy::category, category_text(category), first + s, overview.steps[s].by[c] * 1000);
  }
  auto add_at = [&](DiffBy by, const std::string& name, i64 begin_ns, i64 ns) {
    if (int s = windows.step_at(begin_ns); s >= 0) count(by, name, first + u32(s), double(ns));
  };
  OpTree ops = build_op_tree(model);
  for (const OpNode& node : ops.nodes) {
    if (node.kind != NodeKind::op && node.kind != NodeKind::label) continue;
    const std::string& name = model.names[node.name];
    add_at(DiffBy::operator_host, name, node.begin_ns, node.host_self_ns);
    if (node.device_self_ns) add_at(DiffBy::operator_device, name, node.begin_ns, node.device_self_ns);
  }
  if (!model.modules.empty()) ops = build_op_tree(model, PythonNodes::modules);
  merge(trees_[number], step_call_tree(model, ops, windows), {1, 1});
  for (const GpuEvent& work : model.gpu)
    if (work.kind() == Kind::kernel) add_at(DiffBy::kernel, model.names[work.name], work.begin_ns, work.dur_ns);
  for (const Event& e : model.events)
    if ((e.flags & kEventPython) && e.python && e.python->module != kNone)
      add_at(DiffBy::module, model.names[e.name], e.begin_ns, e.dur_ns);
}

void DiffSide::add_machine(const Model& model, Run& run) {
  MachineFigures figures = machine_figures(model.info);
  for (u32 i = 0; i < kMachineFigures; i++) {
    if (!std::isfinite(figures[i])) continue;
    u32& traces = machine_counts_[size_t(&run - runs_.data())][i];
    run.machine[i] = traces ? (run.machine[i] * traces + figures[i]) / (traces + 1) : figures[i];
    traces++;
  }
}

void DiffSide::finish() {
  blocks_.clear();
  for (Run& run : runs_) {
    std::stable_sort(run.steps.begin(), run.steps.end(),
                     [this](u32 x, u32 y) { return steps_[x].begin_ns < steps_[y].begin_ns; });
    run.begin_ns = steps_[run.steps.front()].begin_ns;
    run.end_ns = steps_[run.steps.back()].begin_ns;
    blocks_.push_back(blocks_of(run));
  }
}

// Steps that several processes run at the same time count as one.
DiffSide::Blocks DiffSide::blocks_of(const Run& run) const {
  size_t most_at_once = 1;
  for (size_t i = 0, open = 0; i < run.steps.size(); i++) {
    i64 begin = steps_[run.steps[i]].begin_ns;
    auto is_over = [&](const Step& step) { return step.begin_ns + i64(step.ns) <= begin; };
    while (open < i && is_over(steps_[run.steps[open]])) open++;
    most_at_once = std::max(most_at_once, i - open + 1);
  }
  size_t n = run.steps.size(), blocks = blocks_for(n / most_at_once);
  Blocks out;
  if (!blocks) return out;
  out.of_step.resize(steps_.size());
  out.counts.resize(blocks);
  for (size_t i = 0; i < n; i++) {
    size_t block = i * blocks / n;
    out.of_step[run.steps[i]] = u32(block);
    out.counts[block]++;
  }
  return out;
}

DiffSide::Entry DiffSide::all_steps() const {
  Entry out{{}, double(steps_.size())};
  for (u32 s = 0; s < steps_.size(); s++) out.ns.push_back({s, steps_[s].ns});
  return out;
}

CallTree DiffSide::calls() const {
  CallTree out;
  for (size_t r = 0; r < runs_.size(); r++)
    merge(out, trees_[r], {1 / double(runs_[r].steps.size()) / double(runs_.size()), 1 / double(steps_.size())});
  return out;
}

double DiffSide::mean(const StepValues& values) const { return mean_of(sample(values, true).values); }

Sample DiffSide::sample(const StepValues& values, bool of_runs) const {
  std::vector<double> sums(runs_.size());
  std::vector<std::vector<double>> blocks(runs_.size());
  for (u32 r = 0; r < runs_.size(); r++) blocks[r].resize(blocks_[r].counts.size());
  for (const StepValue& v : values) {
    u32 r = steps_[v.step].run;
    sums[r] += v.value;
    if (!blocks[r].empty()) blocks[r][blocks_[r].of_step[v.step]] += v.value;
  }
  Sample out;
  size_t with_blocks = 0;
  for (u32 r = 0; r < runs_.size(); r++) {
    for (size_t b = 0; b < blocks[r].size(); b++) blocks[r][b] /= blocks_[r].counts[b];
    if (of_runs) {
      out.values.push_back(sums[r] / double(runs_[r].steps.size()));
      if (!blocks[r].empty()) out.own_variance += variance_of_mean(blocks[r]), with_blocks++;
    } else {
      out.values.insert(out.values.end(), blocks[r].begin(), blocks[r].end());
    }
  }
  if (with_blocks) out.own_variance /= double(with_blocks);
  return out;
}

std::vector<double> DiffSide::lengths(const std::vector<u32>& steps) const {
  std::vector<double> out;
  for (u32 s : steps) out.push_back(steps_[s].ns);
  return out;
}

Sample DiffSide::typical_sample() const {
  Sample out;
  size_t with_blocks = 0;
  for (u32 r = 0; r < runs_.size(); r++) {
    out.values.push_back(middle_half(lengths(runs_[r].steps)));
    std::vector<std::vector<double>> blocks(blocks_[r].counts.size());
    if (blocks.empty()) continue;
    for (u32 s : runs_[r].steps) blocks[blocks_[r].of_step[s]].push_back(steps_[s].ns);
    std::vector<double> middles;
    for (const std::vector<double>& block : blocks)
      if (block.size() >= kTypicalSteps) middles.push_back(middle_half(block));
    if (middles.size() < kMinBlocks) continue;
    out.own_variance += variance_of_mean(middles), with_blocks++;
  }
  if (with_blocks) out.own_variance /= double(with_blocks);
  return out;
}

Sample DiffSide::sample_less_waiting() const {
  Sample out = sample(all_steps().ns, true);
  out.own_variance = 0;  // the steps' variance is mostly due to their waiting
  for (u32 r = 0; r < runs_.size(); r++) {
    double waiting = waiting_of(runs_[r]);
    if (!(waiting >= 0 && waiting < 1)) return {};  // not known, or nothing is left
    out.values[r] *= 1 - waiting;
  }
  return out;
}

double DiffSide::longest_waiting() const {
  double out = 0;
  for (const Run& run : runs_)
    if (double waiting = waiting_of(run); waiting > out) out = waiting;
  return out;
}

}  // namespace tprof
