#include "analysis/time/overview.h"

#include <ctype.h>

#include <algorithm>
#include <cmath>

#include "analysis/time/gpu_summary.h"
#include "model/death.h"

namespace tprof {
namespace {

std::string counted(const std::map<std::string, u64>& counts) {
  std::string out;
  for (const auto& [what, count] : counts)
    if (count) out += (out.empty() ? "" : ", ") + what + " " + std::to_string(count);
  return out;
}

void note_death(const Model& model, std::vector<std::string>& notes) {
  if (std::string text = death_text(model); !text.empty()) notes.push_back(text + "; all of this is until then");
}

void note_losses(const Ledger& ledger, std::vector<std::string>& notes) {
  auto say = [&](const std::map<std::string, u64>& counts, const char* what) {
    std::string text = counted(counts);
    if (!text.empty()) notes.push_back(what + text);
  };
  say(ledger.dropped, "events lost: ");
  say(ledger.repaired, "events repaired: ");
  say(ledger.left_out, "events of kinds that are not analysed: ");
  if (ledger.lanes) notes.push_back(std::to_string(ledger.lanes) + " of the ranges cross others of their thread");
  if (ledger.gpu.without_call)
    notes.push_back(std::to_string(ledger.gpu.without_call) + " GPU activities have no call that launched them");
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

void note_steps(const Model& model, const std::vector<StepSpan>& spans, std::vector<std::string>& notes) {
  if (model.steps.empty())
    notes.push_back(model.stretches.empty() ? "no steps are marked: all of the trace counts as one"
                                            : "this trace has evaluations but no steps");
  if (model.steps.size() == 1) notes.push_back("there is only one step, which may not be typical of the others");
  auto names_of = [&](auto&& is_one) {
    std::vector<std::string> names;
    for (const StepSpan& span : spans)
      if (is_one(span)) names.push_back(span.name);
    return names;
  };
  auto note = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) notes.push_back(what + listed(names));
  };
  note("not counted, because some of their GPU work seems to be missing: steps ",
       names_of([](const StepSpan& s) { return !s.whole; }));
  note("not counted, because an evaluation lies inside: steps ",
       names_of([](const StepSpan& s) { return s.whole && !s.counts && s.evaluates && !is_cut_short(s.cut); }));
  for (u32 cut = 1; cut < std::size(kStepCutTexts); cut++)
    for (bool counts : {false, true}) {
      auto names = names_of([&](const StepSpan& s) { return s.whole && s.cut == StepCut(cut) && s.counts == counts; });
      if (names.empty()) continue;
      bool many = names.size() > 1;
      const char* what = counts ? (many ? " count, but were cut: " : " counts, but was cut: ")
                                : (many ? " are in no average: " : " is in no average: ");
      notes.push_back((many ? "steps " : "step ") + listed(names) + what + kStepCutTexts[cut]);
    }
}

// Whether the call makes a device work, by its name. What other vendors' calls do is not known.
bool may_launch(const Model& model, const NameClasses& classes, const CallEvent& call) {
  const std::string& name = model.names[call.name];
  bool driver = name.size() > 2 && name.starts_with("cu") && isupper(static_cast<unsigned char>(name[2]));
  bool known = driver || name.starts_with("cuda") || name.starts_with("hip");
  return !known || classes.is(call, NameClass::launches) || classes.is(call, NameClass::copies);
}

}  // namespace

i64 whole_ns(double us) { return std::llround(us * 1000); }

StepTimes average_of(const std::vector<StepTimes>& steps) {
  StepTimes out{"average", 0, {}};
  if (steps.empty()) return out;
  auto count = double(steps.size());
  for (const StepTimes& step : steps) {
    out.us += step.us;
    for (u32 c = 0; c < kCategories; c++) out.by[c] += step.by[c];
  }
  out.us /= count;
  for (double& us : out.by) us /= count;
  return out;
}

Overview overview_of(const Model& model) {
  Overview out;
  NameClasses classes(model);
  std::vector<StepSpan> spans = step_spans(model);
  auto busy = category_times(model, classes);
  auto any = [&](Category c) { return !busy[u32(c)].empty(); };
  out.uses_gpu = any(Category::runtime) || any(Category::kernel) || any(Category::copy) || any(Category::set) ||
                 !model.gpu.empty();
  out.communicates = any(Category::communication);
  auto runs = [](const GpuEvent& work) { return work.runs_on_gpu(); };
  auto launches = [&](const CallEvent& call) { return may_launch(model, classes, call); };
  out.work_known = std::any_of(model.gpu.begin(), model.gpu.end(), runs) ||
                   std::none_of(model.calls.begin(), model.calls.end(), launches);
  out.counted = counted_of(model);
  out.trigger = model.trigger;
  out.span_ns = model.end_ns - model.begin_ns;
  note_death(model, out.notes);
  note_steps(model, spans, out.notes);
  note_losses(model.ledger, out.notes);
  std::erase_if(spans, [](const StepSpan& span) { return !span.counts; });
  if (model.empty()) {
    out.notes.insert(out.notes.begin(), "the trace holds no events of operators, steps, calls or GPUs");
    return out;
  }
  if (model.steps.empty() && !model.stretches.empty()) return out;
  Interval all{spans.front().time.begin, spans.back().time.end};
  Windows windows = windows_of(model);
  out.own = own_cost(model, windows);
  out.loaders = loader_uses(model, windows);
  if (out.uses_gpu) out.gpus = gpu_figures(model, windows, out.notes);
  if (!out.work_known)
    out.notes.push_back(
        "a device was called, but the trace has no events of its work that can be analysed; how long it worked is not "
        "known");
  else if (out.uses_gpu && out.gpus.empty())
    out.notes.push_back("no kernel ran: there is nothing to report about the GPU");

  for (const StepSpan& span : spans) out.steps.push_back({span.name, double(span.time.length()) / 1000, {}});
  IntervalSet rest(all.begin, all.end);
  for (u32 c = 0; c < kCategories; c++) {
    IntervalSet mine = c < busy.size() ? rest & busy[c] : rest;
    if (c == u32(Category::other)) out.other = python_spot(model, mine);
    rest = rest - mine;
    for (size_t i = 0; i < spans.size(); i++)
      out.steps[i].by[c] = double(mine.length_in(spans[i].time.begin, spans[i].time.end)) / 1000;
  }
  out.average = average_of(out.steps);
  return out;
}

}  // namespace tprof
