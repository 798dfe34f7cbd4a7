#include "collect/session/ring.h"

#include <string.h>

#include <algorithm>

namespace tprof {

void Ring::set(const Mode& mode, u64 max_bytes) {
  if (!mode.flight) return;
  max_chunks_ = u32((mode.bytes ? mode.bytes : max_bytes / kFlightParts) / kChunkBytes);
  max_ns_ = u64(mode.seconds) * 1'000'000'000;
}

void Ring::start(u32 epoch, u32 first_epoch, u32 leader_epoch, u64 ticks, u64 ns) {
  count_ = 1;
  spans_[0] = {epoch, first_epoch, leader_epoch, ticks, ns, 0};
}

bool Ring::is_filled(u32 full) const {
  return is_on() && full - full_before_.load(std::memory_order_relaxed) >= std::max(max_chunks_ / kParts, 1u);
}

bool Ring::span_is_over(u32 full, u64 ns) const {
  return is_filled(full) || (max_ns_ && ns - spans_[count_ - 1].begin_ns >= max_ns_ / kParts);
}

void Ring::roll(u32 epoch, u32 leader_epoch, u64 ns, u32 full) {
  full_before_.store(full, std::memory_order_relaxed);
  if (count_ == kMaxSpans) {  // the two oldest become one
    memmove(spans_ + 1, spans_ + 2, (count_ - 2) * sizeof(Span));
    count_--;
  }
  spans_[count_++] = {epoch, epoch, leader_epoch, kNotYet, ns, 0};
}

void Ring::span_begins(u32 epoch, u64 ticks) {
  for (u32 i = 0; i < count_; i++)
    if (spans_[i].epoch == epoch) spans_[i].begin_ticks = ticks;
}

void Ring::step_begins(u64 ticks) {
  if (!count_) return;
  Span& newest = spans_[count_ - 1];
  if (!newest.step_ticks && ticks >= newest.begin_ticks) newest.step_ticks = ticks;
}

bool Ring::is_over(u32 chunks, u64 ns) const {
  if (!can_drop()) return false;
  if (max_ns_ && ns - spans_[1].begin_ns >= max_ns_) return true;
  // Each thread has a chunk in each span, however little it writes: one whole span is kept even if that is too much.
  return count_ > 2 && chunks > max_chunks_;
}

bool Ring::leader_dropped(u32 leader_kept_epoch) const {
  return can_drop() && spans_[1].leader_epoch <= leader_kept_epoch;
}

u64 Ring::drop() {
  memmove(spans_, spans_ + 1, --count_ * sizeof(Span));
  return spans_[0].step_ticks ? spans_[0].step_ticks : spans_[0].begin_ticks;
}

void Ring::pin(u32 window) {
  if (!count_) return;
  if (pinned_count_ < kMaxPinned)
    pinned_[pinned_count_++] = {window, spans_[0].first_epoch};
  else
    pinned_[kMaxPinned - 1].window = window;
}

u32 Ring::kept_epoch(u64 given_back) {
  while (pinned_count_ && given_back > 2 * u64(pinned_[0].window) + 1)
    memmove(pinned_, pinned_ + 1, --pinned_count_ * sizeof(Pinned));
  return pinned_count_ ? pinned_[0].first_epoch : first_epoch();
}

u32 Ring::kept_epochs(EpochRange (&out)[kMaxKept]) const {
  u32 count = 0;
  for (u32 i = 0; i < pinned_count_; i++) out[count++] = {pinned_[i].first_epoch, 2 * pinned_[i].window + 1};
  out[count++] = {first_epoch(), ~u32(0)};
  return count;
}

}  // namespace tprof
