// Ticks to nanoseconds: piecewise linear between the clock triples of a recording.
//
// Ticks go to CLOCK_MONOTONIC first and from there to wall time by ONE offset, the one at the span's begin: a
// step of the wall clock inside a span must not bend it.
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"

namespace tprof {

class ClockMap {
 public:
  // `created_ns` places a recording without any triple. `same_boot`: this machine's clocks still belong to
  // it.
  ClockMap(std::vector<ClockTriple> triples, ClockKind kind, u64 created_ns, bool same_boot);

  i64 monotonic_ns(u64 ticks) const;

  // Wall time minus monotonic time around `ticks`.
  i64 wall_offset_ns(u64 ticks) const;
  i64 realtime_ns(u64 ticks) const { return monotonic_ns(ticks) + wall_offset_ns(ticks); }

  // ns per tick over the whole recording.
  double rate() const { return rate_; }

  // One line when times are doubtful, else empty.
  const std::string& doubt() const { return doubt_; }

 private:
  std::vector<ClockTriple> triples_;
  double rate_ = 1;
  std::string doubt_;
};

}  // namespace tprof
