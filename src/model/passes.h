// The passes of build_model(), in the order in which they run. Each works on the whole Model.
#pragma once
#include "model/trace.h"

namespace tprof {

// A step as the recording has it, in the Model's time.
struct StepEdge {
  i64 number;
  StepBy by;
  u32 tid;
  i64 begin_ns, end_ns;
  bool open;  // nobody saw its end: it ends with its last operator
};

// Steps of the recording that lie in the Model's span, cut to it; `to_ns` maps stamps.
template <class ToNs>
std::vector<StepEdge> step_edges(const std::vector<StepInfo>& steps, const Model& model, i64 first_step,
                                 i64 end_step, ToNs to_ns);

// steps.cpp: adds a "ProfilerStep#N" event and a Step for each edge that has events, and removes the script's
// own ProfilerStep# ranges when it did.
void add_steps(Model& model, std::vector<StepEdge> edges);

// python.cpp: gives Python calls ids, from 1 in order of begin, and the innermost call around each on its thread as parent,
// before nesting cuts or moves any. The parents by id, for when some were folded: then the nearest that stayed counts.
std::vector<u32> number_python_calls(Model& model);
void mend_python_parents(Model& model, const std::vector<u32>& parents);

// nest.cpp: sorts the events, sets parents and depths per thread, moves what crosses to lanes, folds what is
// too deep. With `exact`, for traces that were read: ends stay as they are, but for crossings of less than a
// microsecond, and nothing is folded.
void nest_events(Model& model, bool exact = false);

// links.cpp: gives evaluate_function wrappers the sequence number of their node, then finds forward-backward
// pairs.
void link_forward_backward(Model& model);

// correlate.cpp: finds the range in which each call was made, which is also the range of what it launched, and fits the
// calls into these ranges. With `exact`, for traces that were read: a range that is known stays, and so do times.
void attribute_gpu_work(Model& model, bool exact = false);

// describe.cpp: names GPU work that is no kernel, computes what the records tell of occupancy and bandwidth.
void describe_gpu_work(Model& model);

// --- implementation of the template

template <class ToNs>
std::vector<StepEdge> step_edges(const std::vector<StepInfo>& steps, const Model& model, i64 first_step,
                                 i64 end_step, ToNs to_ns) {
  std::vector<StepEdge> edges;
  for (size_t i = 0; i < steps.size(); i++) {
    const StepInfo& s = steps[i];
    if ((s.flags & kStepTentative) && !(s.flags & kStepHasWork)) continue;
    if (first_step >= 0 && s.number < first_step) continue;
    if (end_step >= 0 && s.number >= end_step) continue;
    StepEdge edge{s.number, s.by, s.tid, to_ns(s.begin_ticks), model.end_ns, true};
    bool last = i + 1 == steps.size();
    if (!last) {
      const StepInfo& next = steps[i + 1];
      edge.end_ns = to_ns(next.begin_ticks);
      // A step that nothing was done in yet bounds this one but does not end it.
      edge.open = (next.flags & kStepTentative) && !(next.flags & kStepHasWork);
    }
    if (s.end_ticks) {
      i64 end = to_ns(s.end_ticks);
      edge.end_ns = last ? end : std::min(end, edge.end_ns);
      edge.open = false;
    }
    if (edge.end_ns <= model.begin_ns || edge.begin_ns >= model.end_ns || edge.end_ns <= edge.begin_ns)
      continue;
    edges.push_back(edge);
  }
  return edges;
}

}  // namespace tprof
