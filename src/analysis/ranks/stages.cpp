#include "analysis/ranks/stages.h"

#include "analysis/basis/innermost.h"
#include "analysis/basis/tensors.h"
#include "analysis/basis/updates.h"
#include "analysis/time/activity.h"
#include "model/communication.h"

namespace tprof {
namespace {

// The phase of each event: that of its own name, else of the range around it.
std::vector<Stage> phases_of(const Model& model, const NameClasses& classes) {
  std::vector<Stage> by_name;
  for (const std::string& name : model.names)
    by_name.push_back(name.starts_with(kEvaluatePrefix)    ? Stage::backward
                      : name.starts_with(kOptimizerPrefix) ? Stage::optimizer
                                                           : Stage::forward);
  std::vector<Stage> out;
  std::vector<i64> updates(model.events.size());  // from when on the range of the optimizer around it updates
  for (u32 i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    Stage own = by_name[e.name], around = e.parent < 0 ? own : out[size_t(e.parent)];
    if (own == Stage::optimizer)
      updates[i] = updates_from(model, classes, i);
    else if (around == Stage::optimizer)
      updates[i] = updates[size_t(e.parent)];
    bool in_closure = around == Stage::optimizer && e.begin_ns < updates[i];
    out.push_back(own == Stage::forward && !in_closure ? around : own);
  }
  return out;
}

}  // namespace

const char* stage_text(Stage stage) {
  static constexpr const char* kTexts[] = {
#define STAGE(name, text) text,
      TPROF_STAGES(STAGE)
#undef STAGE
  };
  return kTexts[u32(stage)];
}

WorkAmount work_of(const Model& model, const NameClasses& classes, const Windows& windows) {
  WorkAmount out;
  double elements = -1;
  for (const Event& e : model.events) {
    if (!is_operator(e) || is_collective_op(model.name_of(e)) || classes.is(e, NameClass::communication_op) ||
        !windows.holds(e.begin_ns))
      continue;
    out.operators++;
    if (!(e.flags & kEventHasInputs) || (e.parent >= 0 && is_operator(model.events[size_t(e.parent)]))) continue;
    elements = std::max(elements, 0.0);
    for (const OpInput& input : inputs_of(e))
      if (input.tensor.defined) elements += input.tensor.elements();
  }
  out.elements = i64(std::min(elements, 0x1p62));  // damaged sizes may sum up to more than fits
  return out;
}

std::vector<StageTimes> gpu_phases(const Model& model, const NameClasses& classes, const Windows& windows) {
  std::vector<Stage> phases = phases_of(model, classes);
  std::vector<Interval> when[kStages];
  for (const GpuEvent& work : model.gpu)
    if (work.op >= 0 && work.runs_on_gpu() && classes.work(work) != Work::communication &&
        is_operator(model.events[size_t(work.op)]))
      when[u32(phases[size_t(work.op)])].push_back({work.begin_ns, work.end_ns()});
  std::vector<StageTimes> out(windows.steps.size());
  IntervalSet taken;
  for (Stage stage : {Stage::optimizer, Stage::backward, Stage::forward}) {
    IntervalSet all(std::move(when[u32(stage)]));
    IntervalSet own = all - taken;
    for (size_t i = 0; i < out.size(); i++)
      out[i][u32(stage)] = own.length_in(windows.steps[i].begin, windows.steps[i].end);
    taken = taken | all;
  }
  return out;
}

std::vector<StageTimes> host_stages(const Model& model, const NameClasses& classes, const Windows& windows,
                                    const IntervalSet& calls) {
  Waits waits(model, classes);
  HostTimelines timelines(model, classes, waits);
  std::vector<Stage> phases = phases_of(model, classes);
  std::vector<Interval> when[kStages];
  for (u32 thread = 0; thread < model.threads.size(); thread++)
    for (const ActivityPiece& piece : timelines.of(thread)) {
      Interval time{piece.begin_ns, piece.end_ns};
      if (piece.activity == Activity::data_loading)
        when[u32(Stage::loader)].push_back(time);
      else if (piece.activity == Activity::operating &&
               !is_collective_op(model.name_of(model.events[size_t(piece.event)])))
        when[u32(phases[size_t(piece.event)])].push_back(time);
    }
  when[u32(Stage::collective)] = calls.intervals();
  IntervalSet sets[kStages], taken;
  for (Stage stage : {Stage::loader, Stage::optimizer, Stage::backward, Stage::forward, Stage::collective}) {
    IntervalSet all(std::move(when[u32(stage)]));
    sets[u32(stage)] = all - taken;
    taken = taken | all;
  }
  std::vector<StageTimes> out;
  for (const Interval& step : windows.steps) {
    StageTimes times{};
    i64 rest = step.length();
    for (u32 s = 0; s < kStages; s++) rest -= times[s] = sets[s].length_in(step.begin, step.end);
    times[u32(Stage::python)] = rest;
    out.push_back(times);
  }
  return out;
}

}  // namespace tprof
