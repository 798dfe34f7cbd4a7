// Whether a program stands still for too long. A pure rule: signs of life in, a hang out.
#pragma once
#include "base/types.h"

namespace tprof::hang {

// What is seen of a program at one moment. Ages in ns.
struct Signs {
  u64 step_ticks = 0;      // of the last step, or batch of an evaluation; 0: none so far
  i64 event_age_ns = -1;   // since its last operator or call that is recorded; -1: none is, or recording rests
  i64 collective_ns = -1;  // for how long the oldest collective runs that is not complete; -1: none
  bool is_rank = false;    // of a distributed job
};

struct Still {
  u64 ns = 0;               // for how long; 0: it goes on
  bool collective = false;  // it is a collective that takes so long
};

class Stillness {
 public:
  static constexpr u64 kLeastBetween_ns = 60'000'000'000;  // from one hang that is told to the next one

  // `now_ns`: when the watch begins, of a clock that does not jump.
  Stillness(u64 limit_ns, u64 now_ns) : limit_ns_(limit_ns), moved_ns_(now_ns) {}

  // For how long no step has begun at `now_ns`.
  u64 stepless_ns(u64 step_ticks, u64 now_ns);
  // Each hang is told once. What has neither made a step nor recorded anything is none unless it is a rank: a launcher
  // waits for what it has started.
  Still add(const Signs& signs, u64 now_ns);
  // It was no hang: it is told again if it goes on for as long.
  void dismiss(u64 now_ns);

 private:
  u64 limit_ns_;
  u64 moved_ns_;  // when the last step was seen to begin
  u64 step_ticks_ = 0;
  u64 told_ns_ = 0;       // 0: none was
  u64 dismissed_ns_ = 0;  // 0: none was
  bool told_[2] = {};     // the hang that goes on, and the collective
};

}  // namespace tprof::hang
