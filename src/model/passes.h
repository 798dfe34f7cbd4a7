// The passes of build_model(), in the order in which they run. Each works on the whole Model.
#pragma once
#include <functional>

#include "model/build.h"

namespace tprof {

// steps.cpp: adds an event and a Step or Stretch for each of the recording's that has events in the span, cut to it:
// "ProfilerStep#N", "Evaluation#N", "Inference#N". Removes the script's own ProfilerStep# ranges where there are steps.
// `to_ns` maps stamps.
void add_steps(Model& model, const Meta& meta, const SpanRequest& request, const std::function<i64(u64)>& to_ns);

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

}  // namespace tprof
