// Cutting a long recording into spans that a viewer can hold: at the edges of steps and evaluations and between the
// batches of an evaluation, at a number of events where one step is larger than that.
#pragma once
#include "model/build.h"

namespace tprof {

struct SpanCut {
  u64 begin_ticks, end_ticks;
  u64 events;
  i64 first_step, end_step;  // steps that begin inside, -1 none
};

// Cuts [begin, end). Every cut but the last of a step has at most `max_events` events.
std::vector<SpanCut> cut_spans(Recording& recording, const Meta& meta, const SpanRequest& whole, u64 max_events);

}  // namespace tprof
