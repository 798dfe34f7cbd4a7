// Cuts a long recording into spans that a viewer can hold: where steps and evaluations begin or end and between the
// batches of an evaluation; a step that is too large alone is cut after a number of events.
#pragma once
#include "model/build.h"

namespace tprof {

struct SpanCut {
  u64 begin_ticks, end_ticks;
  u64 events;
  i64 first_step, end_step;  // steps that begin inside, -1 none
};

// Cuts [begin_ticks, end_ticks) of `whole`. Every span but the last one of a step has at most `max_events` events.
std::vector<SpanCut> cut_spans(Recording& recording, const Meta& meta, const SpanRequest& whole, u64 max_events);

}  // namespace tprof
