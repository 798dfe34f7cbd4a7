// Ticks of a recording that is being written, as nanoseconds of its host's CLOCK_MONOTONIC: from the first clock triple
// and the last one. On the recording's own machine the last one is read here and now.
#pragma once
#include <algorithm>

#include "base/clock.h"
#include "record/record.h"

namespace tprof::live {

class HostTime {
 public:
  HostTime(const FileHeader& header, bool same_machine) : kind_(static_cast<ClockKind>(header.clock_kind)) {
    init_clock();
    same_machine_ = same_machine && g_clock_kind == kind_;
  }

  // A triple of the recording. The first look finds the earliest one. One whose clocks contradict those before is
  // damaged.
  void add(const ClockTriple& t) {
    if (!first_.ticks) {
      first_ = last_ = t;
    } else if (t.ticks < first_.ticks && t.monotonic_ns < first_.monotonic_ns) {
      first_ = t;
    } else if (t.ticks > last_.ticks && t.monotonic_ns > last_.monotonic_ns) {
      last_ = t;
    }
  }
  // To be called before each look.
  void tick() {
    if (same_machine_) add(read_clocks());
  }

  // The moment of the last look, or on another machine that of the last triple.
  u64 now() const { return last_.ticks; }
  // The same moment of CLOCK_MONOTONIC, as stamps of samples are.
  u64 now_ns() const { return last_.monotonic_ns; }

  double ns_per_tick() const {
    if (kind_ == ClockKind::monotonic_ns || last_.ticks <= first_.ticks) return 1;
    return double(last_.monotonic_ns - first_.monotonic_ns) / double(last_.ticks - first_.ticks);
  }
  // Of a length. The rate becomes more exact with time, so moments are only to be compared in ticks or by at().
  i64 ns(u64 ticks) const { return limited(double(ticks) * ns_per_tick()); }
  // A moment, since the first triple.
  i64 at(u64 ticks) const { return limited(double(i64(ticks - first_.ticks)) * ns_per_tick()); }
  u64 ticks_of(i64 ns) const { return u64(limited(double(ns) / ns_per_tick())); }
  // The ticks at which CLOCK_REALTIME showed this, as CUPTI's stamps do.
  u64 ticks_at_wall(u64 wall_ns) const {
    i64 ahead = limited(double(i64(wall_ns - last_.realtime_ns)) / ns_per_tick());
    return ahead < 0 ? last_.ticks - std::min(last_.ticks, u64(-ahead)) : last_.ticks + u64(ahead);
  }

 private:
  // Of a damaged recording: far beyond anything real, and small enough to compute with.
  static i64 limited(double value) {
    constexpr double kMost = 4e17;  // about 12 years of ns
    return i64(std::clamp(value, -kMost, kMost));
  }

  ClockKind kind_;
  bool same_machine_ = false;
  ClockTriple first_{}, last_{};
};

}  // namespace tprof::live
