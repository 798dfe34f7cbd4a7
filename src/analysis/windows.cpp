#include "analysis/windows.h"

#include <algorithm>

namespace tprof {
namespace {

template <class List>
void widen(Interval& all, const List& list) {
  for (const auto& x : list) {
    all.begin = std::min(all.begin, x.begin_ns);
    all.end = std::max(all.end, x.end_ns());
  }
}

Interval everything(const Model& model) {
  Interval all{INT64_MAX, INT64_MIN};
  widen(all, model.events);
  widen(all, model.calls);
  for (const GpuEvent& event : model.gpu)
    if (event.runs_on_gpu()) widen(all, std::initializer_list<GpuEvent>{event});
  return all.begin <= all.end ? all : Interval{0, 0};
}

i64 last_work_launched_in(const Model& model, const Interval& step) {
  i64 end = step.end;
  for (const GpuEvent& event : model.gpu) {
    if (!event.runs_on_gpu() || event.call == kNone) continue;
    i64 launched = model.calls[event.call].begin_ns;
    if (launched >= step.begin && launched < step.end) end = std::max(end, event.end_ns());
  }
  return end;
}

}  // namespace

int Windows::step_at(i64 ns) const {
  auto at = std::partition_point(steps.begin(), steps.end(), [&](const Interval& x) { return x.end <= ns; });
  return at != steps.end() && at->begin <= ns ? int(at - steps.begin()) : -1;
}

Windows windows_of(const Model& model) {
  Windows out;
  for (const Step& step : model.steps) {
    if (step.end_ns <= step.begin_ns) continue;
    i64 begin = out.steps.empty() ? step.begin_ns : std::max(step.begin_ns, out.steps.back().end);
    if (begin >= step.end_ns) continue;
    out.steps.push_back({begin, step.end_ns});
    out.numbers.push_back(step.number);
  }
  out.has_steps = !out.steps.empty();
  if (out.has_steps) {
    out.steps.back().end = last_work_launched_in(model, out.steps.back());
  } else {
    out.steps.push_back(everything(model));
    out.numbers.push_back(0);
  }
  out.all = {out.steps.front().begin, out.steps.back().end};
  return out;
}

u32 main_thread_of(const Model& model) {
  if (!model.steps.empty() && model.steps[0].event < model.events.size())
    return model.events[model.steps[0].event].thread;
  return model.events.empty() ? kNone : model.events[0].thread;
}

}  // namespace tprof
