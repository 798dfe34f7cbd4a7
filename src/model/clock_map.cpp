#include "model/clock_map.h"

#include <algorithm>
#include <cmath>

namespace tprof {
namespace {

// A stamp further than this from every triple is damage; keeps all sums far from overflow.
constexpr double kFarNs = 4e17;  // about 12 years

i64 scaled(double ticks, double rate) { return std::llround(std::clamp(ticks * rate, -kFarNs, kFarNs)); }

}  // namespace

ClockMap::ClockMap(std::vector<ClockTriple> triples, ClockKind kind, u64 created_ns, bool same_boot)
    : triples_(std::move(triples)) {
  if (triples_.empty()) {
    triples_.push_back({0, created_ns, 0});
    doubt_ = "the recording holds no clock stamp: times are relative to its creation";
  }
  if (triples_.size() == 1 && kind != ClockKind::monotonic_ns) {
    // The counter and CLOCK_MONOTONIC run on since boot, so on the same boot now is as good an anchor as any.
    init_clock();
    ClockTriple now = read_clocks();
    if (same_boot && g_clock_kind == kind && now.ticks > triples_[0].ticks &&
        now.monotonic_ns > triples_[0].monotonic_ns)
      triples_.push_back(now);
    else
      doubt_ = "one clock stamp only: the counter's rate is unknown, 1 GHz was assumed";
  }
  if (triples_.size() > 1 && kind != ClockKind::monotonic_ns) {
    const ClockTriple &a = triples_.front(), &b = triples_.back();
    rate_ = double(b.monotonic_ns - a.monotonic_ns) / double(b.ticks - a.ticks);
  }
}

i64 ClockMap::monotonic_ns(u64 ticks) const {
  auto after = std::upper_bound(triples_.begin(), triples_.end(), ticks,
                                [](u64 value, const ClockTriple& t) { return value < t.ticks; });
  if (after == triples_.begin())
    return i64(after->monotonic_ns) - scaled(double(after->ticks - ticks), rate_);
  const ClockTriple& before = after[-1];
  double gone = double(ticks - before.ticks);
  if (after == triples_.end()) return i64(before.monotonic_ns) + scaled(gone, rate_);
  double rate = double(after->monotonic_ns - before.monotonic_ns) / double(after->ticks - before.ticks);
  // Rounding must not overtake the next triple: order of stamps is order of times.
  return std::min(i64(before.monotonic_ns) + scaled(gone, rate), i64(after->monotonic_ns));
}

i64 ClockMap::wall_offset_ns(u64 ticks) const {
  auto after = std::upper_bound(triples_.begin(), triples_.end(), ticks,
                                [](u64 value, const ClockTriple& t) { return value < t.ticks; });
  const ClockTriple& anchor = after == triples_.begin() ? *after : after[-1];
  return i64(anchor.realtime_ns) - i64(anchor.monotonic_ns);
}

}  // namespace tprof
