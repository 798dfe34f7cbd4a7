#include "analysis/basis/windows.h"

#include <algorithm>

#include "analysis/basis/innermost.h"

namespace tprof {
namespace {

// The gaps between two steps that count in which an evaluation lies, or a step that does not count.
std::vector<Interval> gaps_of(const Model& model, const std::vector<StepSpan>& spans) {
  std::vector<Interval> out;
  auto stretch = model.stretches.begin();
  const StepSpan* before = nullptr;  // the step before that counts
  bool adjacent = true;              // no other one lies between
  for (const StepSpan& span : spans) {
    if (!span.counts) {
      adjacent = false;
      continue;
    }
    if (before) {
      Interval gap{before->time.end, span.time.begin};
      while (stretch != model.stretches.end() && stretch->end_ns <= gap.begin) ++stretch;
      if (!adjacent || (stretch != model.stretches.end() && stretch->begin_ns < gap.end)) out.push_back(gap);
    }
    before = &span;
    adjacent = true;
  }
  return out;
}

}  // namespace

int Windows::step_at(i64 ns) const {
  auto at = std::partition_point(steps.begin(), steps.end(), [&](const Interval& x) { return x.end <= ns; });
  return at != steps.end() && at->begin <= ns ? int(at - steps.begin()) : -1;
}

double Windows::steps_ns() const {
  i64 sum = 0;
  for (const Interval& step : steps) sum += step.length();
  return double(sum);
}

Windows windows_of(const Model& model) {
  Windows out;
  std::vector<StepSpan> spans = step_spans(model);
  for (const StepSpan& span : spans) {
    if (!span.counts) continue;
    out.steps.push_back(span.time);
    out.names.push_back(span.name);
  }
  out.has_steps = !model.steps.empty();
  out.all = {out.steps.front().begin, out.steps.back().end};
  out.time = IntervalSet(out.all.begin, out.all.end) - IntervalSet(gaps_of(model, spans));
  return out;
}

i64 first_moment(const Model& model) {
  i64 first = INT64_MAX;
  if (!model.events.empty()) first = std::min(first, model.events.front().begin_ns);
  if (!model.calls.empty()) first = std::min(first, model.calls.front().begin_ns);
  if (!model.gpu.empty()) first = std::min(first, model.gpu.front().begin_ns);
  return first;
}

u32 main_thread_of(const Model& model) {
  if (!model.steps.empty() && model.steps[0].event < model.events.size())
    return model.events[model.steps[0].event].thread;
  std::vector<u32> operators(model.threads.size());
  std::vector<bool> backward(model.events.size());    // by event: it is, or lies inside, a backward operator
  for (size_t i = 0; i < model.events.size(); i++) {  // parents come before their children
    const Event& e = model.events[i];
    backward[i] = e.scope == u8(Scope::backward) || (e.parent >= 0 && backward[size_t(e.parent)]);
    if (!backward[i] && is_operator(e) && e.thread < operators.size()) operators[e.thread]++;
  }
  auto most = std::max_element(operators.begin(), operators.end());
  if (most != operators.end() && *most > 0) return u32(most - operators.begin());
  return model.events.empty() ? kNone : model.events[0].thread;
}

}  // namespace tprof
