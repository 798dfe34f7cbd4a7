// Recording + a range of stamps -> Model.
//
// An event belongs to a span if it begins in [begin, end), whatever the epoch of its chunk. An event that continues
// beyond the end is clipped there and marked; one that the process never finished ends at the last stamp of the
// process.
#pragma once
#include "model/clock_map.h"
#include "model/trace.h"

namespace tprof {

// What to read.
struct SpanRequest {
  u64 begin_ticks = 0;
  u64 end_ticks = 0;    // 0: to the last stamp of the process, which died in the span
  i64 first_step = -1;  // only steps in [first_step, end_step) are written; -1: every step
  i64 end_step = -1;
  u32 first_epoch = 0;  // chunks to read
  u32 last_epoch = 0xffffffff;
  u64 warmup_ticks = 0;  // events from here to begin_ticks count as discarded warm-up; 0: none
  Damage meta_damage;    // found by read_meta(); that of the data chunks is added
  std::string kind = "window";
  i64 window = -1;
  bool before_training = false;  // see is_before_training()
  bool goes_on = false;          // the program went on after the span, whose end cuts what is open there
};

// The request for one window. Its own epochs are 2w and 2w+1, but the start of a step is confirmed a little late, so
// the chunks before and after may hold events of it, too.
SpanRequest request_of(const WindowInfo& window, const Meta& meta);

// The reader counts the damage of all its passes; the difference is that of one pass.
Damage operator+(const Damage& a, const Damage& b);
Damage operator-(const Damage& a, const Damage& b);

// The mapping of the recording's stamps to time.
ClockMap clock_of(const Recording& recording, const Meta& meta);

// The last stamp found anywhere in the recording.
u64 last_ticks_of(Recording& recording, const Meta& meta);

Model build_model(Recording& recording, const Meta& meta, const SpanRequest& request);

}  // namespace tprof
