// The passes of build_model(), in the order in which they run. Each one processes the whole Model.
#pragma once
#include <functional>

#include "model/build.h"

namespace tprof {

// steps.cpp: for each step or stretch of the recording with events in the span, adds a Step or Stretch and its event,
// both cut to the span: "ProfilerStep#N", "Evaluation#N", "Inference#N". If there are steps, removes the ProfilerStep#
// ranges of the script. `to_ns` maps stamps.
void add_steps(Model& model, const Meta& meta, const SpanRequest& request, const std::function<i64(u64)>& to_ns);

// python.cpp: before nesting cuts or moves Python calls, gives each one an id, from 1 in order of start, and as parent
// the innermost call around it on its thread. Returns the parents by id. If nesting has folded some calls,
// mend_python_parents() replaces them as parents by the nearest call that is left.
std::vector<u32> number_python_calls(Model& model);
void mend_python_parents(Model& model, const std::vector<u32>& parents);

// nest.cpp: sorts the events, sets parents and depths per thread, moves ranges that cross others to lanes, and folds
// ranges that are too deep. `exact`, for traces that were read: ends stay unless a crossing is shorter than a
// microsecond, and nothing is folded.
void nest_events(Model& model, bool exact = false);

// links.cpp: gives evaluate_function wrappers the sequence number of their node, then finds forward-backward
// pairs.
void link_forward_backward(Model& model);

// correlate.cpp: finds the range in which each call was made, which is also that of the GPU activities that it
// launched, and fits the calls into these ranges. `exact`, for traces that were read: known ranges and all times stay.
void attribute_gpu_work(Model& model, bool exact = false);

// describe.cpp: names GPU activities other than kernels, and computes occupancy and bandwidth from the records.
void describe_gpu_work(Model& model);

}  // namespace tprof
