#include "model/clock_map.h"

#include <algorithm>
#include <cmath>

namespace tprof {
namespace {

// A stamp further than this from every triple is damaged. The limit also keeps all sums far from overflow.
constexpr double kFarNs = 4e17;  // about 12 years
constexpr i64 kDayNs = 86'400'000'000'000;

// The two clocks of a triple are read one after the other; a larger change of their difference means that a clock was
// set. (Slewing moves both by the same amount.)
constexpr i64 kSetNs = 20'000;

i64 scaled(double ticks, double rate) { return std::llround(std::clamp(ticks * rate, -kFarNs, kFarNs)); }

}  // namespace

ClockMap::ClockMap(std::vector<ClockTriple> triples, ClockKind kind, u64 created_ns, bool same_boot)
    : triples_(std::move(triples)) {
  if (triples_.empty()) {
    triples_.push_back({0, std::min(created_ns, kLastMoment_ns), 0});
    doubt_ = "the recording holds no clock stamp: times are relative to its creation";
  }
  if (triples_.size() == 1 && kind != ClockKind::monotonic_ns) {
    // The counter and CLOCK_MONOTONIC both run since boot, so on the same boot the present pair is as good as any.
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
  find_eras();
}

void ClockMap::find_eras() {
  std::vector<i64> offsets;  // of the open era
  auto close = [&] {
    std::nth_element(offsets.begin(), offsets.begin() + offsets.size() / 2, offsets.end());
    eras_.back().offset_ns = offsets[offsets.size() / 2];
    offsets.clear();
  };
  for (const ClockTriple& t : triples_) {
    i64 at = i64(t.monotonic_ns), offset = i64(t.realtime_ns - t.monotonic_ns);
    // Not by subtraction: a damaged triple must not overflow it.
    bool same = !eras_.empty() && std::fabs(double(offset) - double(eras_.back().offset_ns)) <= double(kSetNs);
    if (!same) {
      if (!eras_.empty()) close();
      eras_.push_back({offset, at, at});
    }
    eras_.back().last_ns = at;
    offsets.push_back(offset);
  }
  close();
}

i64 ClockMap::monotonic_ns(u64 ticks) const {
  auto after = std::upper_bound(triples_.begin(), triples_.end(), ticks,
                                [](u64 value, const ClockTriple& t) { return value < t.ticks; });
  if (after == triples_.begin()) return i64(after->monotonic_ns) - scaled(double(after->ticks - ticks), rate_);
  const ClockTriple& before = after[-1];
  double gone = double(ticks - before.ticks);
  if (after == triples_.end()) return i64(before.monotonic_ns) + scaled(gone, rate_);
  double rate = double(after->monotonic_ns - before.monotonic_ns) / double(after->ticks - before.ticks);
  // Rounding must not pass the next triple, so that times keep the order of stamps.
  return std::min(i64(before.monotonic_ns) + scaled(gone, rate), i64(after->monotonic_ns));
}

i64 ClockMap::wall_offset_ns(u64 ticks) const {
  auto after = std::upper_bound(triples_.begin(), triples_.end(), ticks,
                                [](u64 value, const ClockTriple& t) { return value < t.ticks; });
  const ClockTriple& anchor = after == triples_.begin() ? *after : after[-1];
  return i64(anchor.realtime_ns) - i64(anchor.monotonic_ns);
}

i64 ClockMap::monotonic_of_wall(u64 realtime_ns) const {
  i64 best = 0;
  u64 best_distance = ~u64(0);
  for (size_t i = 0; i < eras_.size(); i++) {
    const Era& era = eras_[i];
    i64 at = i64(realtime_ns - u64(era.offset_ns));
    // Its offset did not apply beyond the triples of its neighbours.
    if (i > 0 && at < eras_[i - 1].last_ns) continue;
    if (i + 1 < eras_.size() && at > eras_[i + 1].first_ns) continue;
    u64 distance = at < era.first_ns ? u64(era.first_ns) - u64(at) : at > era.last_ns ? u64(at) - u64(era.last_ns) : 0;
    if (distance >= best_distance) continue;
    best = at;
    best_distance = distance;
  }
  if (best_distance == ~u64(0)) best = i64(realtime_ns - u64(eras_.back().offset_ns));
  return best;
}

u64 ClockMap::ticks_at(i64 monotonic_ns) const {
  auto after = std::upper_bound(triples_.begin(), triples_.end(), monotonic_ns,
                                [](i64 value, const ClockTriple& t) { return value < i64(t.monotonic_ns); });
  const ClockTriple& anchor = after == triples_.begin() ? *after : after[-1];
  double rate = rate_;
  if (after != triples_.begin() && after != triples_.end())
    rate = double(after->monotonic_ns - anchor.monotonic_ns) / double(after->ticks - anchor.ticks);
  double gone = (double(monotonic_ns) - double(anchor.monotonic_ns)) / rate;
  double ticks = std::clamp(double(anchor.ticks) + gone, 0.0, 1.8e19);
  // Computed from the difference, which is small: a double holds only 53 bits.
  return std::fabs(gone) < 9e15 && ticks > 0 && ticks < 1.8e19 ? anchor.ticks + u64(std::llround(gone)) : u64(ticks);
}

bool ClockMap::is_sane(i64 monotonic_ns) const {
  double at = double(monotonic_ns);
  return at >= double(triples_.front().monotonic_ns) - double(kDayNs) &&
         at <= double(triples_.back().monotonic_ns) + double(kDayNs);
}

u64 stamp_of(const RecordView& view, const ClockMap& clock) {
  u64 ns = 0;
  switch (view.kind()) {
    case Kind::api: ns = view.as<ApiRecord>().begin_ns; break;
    case Kind::kernel: ns = view.as<KernelRecord>().begin_ns; break;
    case Kind::copy: ns = view.as<CopyRecord>().begin_ns; break;
    case Kind::set: ns = view.as<SetRecord>().begin_ns; break;
    case Kind::sync: ns = view.as<SyncRecord>().begin_ns; break;
    case Kind::graph: ns = view.as<GraphRecord>().begin_ns; break;
    case Kind::overhead: ns = view.as<OverheadRecord>().begin_ns; break;
    case Kind::gpu_event: ns = view.as<GpuEventRecord>().device_ns; break;
    case Kind::gpu_memory: ns = view.as<GpuMemoryRecord>().ns; break;
    default: return event_ticks(view);
  }
  if (ns == 0) return 0;
  i64 monotonic = clock.monotonic_of_wall(ns);
  return clock.is_sane(monotonic) ? clock.ticks_at(monotonic) : 0;
}

}  // namespace tprof
