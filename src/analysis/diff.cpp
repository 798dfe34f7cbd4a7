#include "analysis/diff.h"

#include <stdio.h>

#include <algorithm>
#include <cmath>

#include "analysis/op_tree.h"
#include "analysis/overview.h"
#include "analysis/windows.h"

namespace tprof {
namespace {

DiffRow row_of(DiffBy by, const std::string& name, const DiffSide::Entry* a, const DiffSide::Entry* b, size_t a_steps,
               size_t b_steps) {
  DiffRow row{by, name};
  auto mean = [](const DiffSide::Entry* entry, size_t steps) {
    double sum = 0;
    for (const StepValue& v : entry->ns) sum += v.value;
    return sum / double(steps);
  };
  row.in_a = a;
  row.in_b = b;
  if (a) row.a_ns = mean(a, a_steps), row.a_calls = a->calls / double(a_steps);
  if (b) row.b_ns = mean(b, b_steps), row.b_calls = b->calls / double(b_steps);
  return row;
}

std::string number_text(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string ms(double ns) { return number_text(std::fabs(ns) < 1e6 ? "%.4g ms" : "%.1f ms", ns / 1e6); }
std::string signed_ms(double ns) { return (ns >= 0 ? "+" : "") + ms(ns); }

}  // namespace

const char* diff_by_text(DiffBy by) {
  static constexpr const char* kTexts[] = {
#define DIFF_BY(name, text, time) text,
      TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
  };
  return kTexts[static_cast<u32>(by)];
}

const char* diff_by_word(DiffBy by) {
  static constexpr const char* kWords[] = {
#define DIFF_BY(name, text, time) #name,
      TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
  };
  return kWords[static_cast<u32>(by)];
}

void DiffSide::count(DiffBy by, const std::string& name, u32 step, double ns) {
  Entry& entry = entries_[static_cast<u32>(by)][name];
  entry.calls++;
  if (!entry.ns.empty() && entry.ns.back().step == step)
    entry.ns.back().value += ns;
  else
    entry.ns.push_back({step, ns});
}

void DiffSide::add(const Model& model) {
  if (model.before_training) {
    notes_.push_back("steps that were counted before the program began to train are left out");
    return;
  }
  Overview overview = overview_of(model);
  for (const std::string& note : overview.notes) notes_.push_back(note);
  if (overview.steps.empty()) return;
  Windows windows = windows_of(model);
  u32 first = u32(step_ns_.size());
  for (u32 s = 0; s < overview.steps.size(); s++) {
    step_ns_.push_back({first + s, overview.steps[s].us * 1000});
    for (u32 c = 0; c < kCategories; c++)
      if (auto category = static_cast<Category>(c); overview.shows(category))
        count(DiffBy::category, category_text(category), first + s, overview.steps[s].by[c] * 1000);
  }
  auto add_at = [&](DiffBy by, const std::string& name, i64 begin_ns, i64 ns) {
    if (int s = windows.step_at(begin_ns); s >= 0) count(by, name, first + u32(s), double(ns));
  };
  for (const OpNode& node : build_op_tree(model).nodes) {
    if (node.kind != NodeKind::op && node.kind != NodeKind::label) continue;
    const std::string& name = model.names[node.name];
    add_at(DiffBy::operator_host, name, node.begin_ns, node.host_self_ns);
    if (node.device_self_ns) add_at(DiffBy::operator_device, name, node.begin_ns, node.device_self_ns);
  }
  for (const GpuEvent& work : model.gpu)
    if (work.kind() == Kind::kernel) add_at(DiffBy::kernel, model.names[work.name], work.begin_ns, work.dur_ns);
  for (const Event& e : model.events)
    if ((e.flags & kEventPython) && e.inputs && reinterpret_cast<const PythonDetail*>(e.inputs)->module != kNone)
      add_at(DiffBy::module, model.names[e.name], e.begin_ns, e.dur_ns);
}

Diff diff(const DiffSide& a, const DiffSide& b) {
  Diff out;
  out.a_steps = a.steps();
  out.b_steps = b.steps();
  for (const std::string& note : a.notes()) out.notes.push_back("A: " + note);
  for (const std::string& note : b.notes()) out.notes.push_back("B: " + note);
  if (!out.a_steps || !out.b_steps) {
    out.step.in_a = out.a_steps, out.step.in_b = out.b_steps;
    out.notes.push_back(std::string(out.a_steps ? "B" : "A") + " holds nothing to compare with");
    return out;
  }
  if (std::min(out.a_steps, out.b_steps) < Bootstrap::kLeastSteps)
    out.notes.push_back("fewer than " + std::to_string(Bootstrap::kLeastSteps) +
                        " steps on a side: what is noise and what is not cannot be told");
  Bootstrap bootstrap(out.a_steps, out.b_steps);
  DiffSide::Entry step_a{a.step_ns(), double(out.a_steps)}, step_b{b.step_ns(), double(out.b_steps)};
  out.step = row_of(DiffBy::step, "step", &step_a, &step_b, out.a_steps, out.b_steps);
  out.step.interval = bootstrap.difference(step_a.ns, step_b.ns);
  double worth = 0.001 * std::max(out.step.a_ns, out.step.b_ns);  // below a thousandth of the step nobody asks
  for (u32 by = 0; by < kDiffBys; by++) {
    size_t begin = out.rows.size();
    auto add = [&](const std::string& name, const DiffSide::Entry* left, const DiffSide::Entry* right) {
      DiffRow row = row_of(static_cast<DiffBy>(by), name, left, right, out.a_steps, out.b_steps);
      if (std::fabs(row.delta_ns()) >= worth)
        row.interval = bootstrap.difference(left ? left->ns : StepValues(), right ? right->ns : StepValues());
      out.rows.push_back(std::move(row));
    };
    const auto &of_a = a.of(static_cast<DiffBy>(by)), &of_b = b.of(static_cast<DiffBy>(by));
    for (const auto& [name, entry] : of_a) {
      auto other = of_b.find(name);
      add(name, &entry, other == of_b.end() ? nullptr : &other->second);
    }
    for (const auto& [name, entry] : of_b)
      if (!of_a.count(name)) add(name, nullptr, &entry);
    std::stable_sort(out.rows.begin() + i64(begin), out.rows.end(), [](const DiffRow& x, const DiffRow& y) {
      return std::fabs(x.delta_ns()) > std::fabs(y.delta_ns());
    });
  }
  return out;
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
  std::string out =
      "step time " + ms(step.a_ns) + " -> " + ms(step.b_ns) + " (" + number_text("%+.1f %%", step.ratio() * 100) + ")";
  if (step.interval.known && !step.interval.excludes_zero())
    return out + ": no more than noise (95 % interval of the change " + signed_ms(step.interval.low) + " to " +
           signed_ms(step.interval.high) + ")";
  if (!step.interval.known) out += ", noise unknown";
  if (const DiffRow* most = explains())
    out += ", mostly " + most->name + ": " + ms(most->a_ns) + " -> " + ms(most->b_ns);
  return out;
}

Regression regression(const Diff& diff, double ratio) {
  if (!diff.a_steps || !diff.b_steps) return Regression::unknown;
  if (diff.step.ratio() <= ratio) return Regression::no;
  if (!diff.step.interval.known) return Regression::unknown;
  return diff.step.interval.low > 0 ? Regression::yes : Regression::no;
}

}  // namespace tprof
