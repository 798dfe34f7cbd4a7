// How fast steps go, from the number of the current one as it is seen now and then. Times in ns of one clock.
#pragma once
#include <deque>

#include "base/types.h"

namespace tprof::live {

class StepsNow {
 public:
  static constexpr i64 kRecent_ns = 5'000'000'000;

  // At `now`, step `number` ran; it began at `begin`. `first`, `first_begin`: the first step that was counted.
  void see(i64 now, i64 number, i64 begin, i64 first, i64 first_begin);

  i64 number() const { return seen_.empty() ? -1 : seen_.back().number; }
  // Steps per second, -1: not known yet. recent: over about the last kRecent_ns or, if steps take longer, over the last
  // one; mean: since the first step.
  double recent() const;
  double mean() const { return mean_; }
  // How long the current step has been running, ns.
  i64 running() const { return seen_.empty() ? 0 : now_ - seen_.back().begin; }

 private:
  struct Seen {
    i64 number, begin;
  };
  std::deque<Seen> seen_;  // each the last one of a look, with another number than the one before
  i64 now_ = 0;
  double mean_ = -1;
};

}  // namespace tprof::live
