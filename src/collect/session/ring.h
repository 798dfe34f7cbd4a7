// What flight mode keeps of the open window: the newest spans, until they take more than the budget. A span is an epoch
// of its own, so that its chunks can be given back together. Pure: no clock, no lock, no file; the session calls it
// under its lock.
#pragma once
#include <atomic>

#include "base/options.h"
#include "record/writer.h"

namespace tprof {

class Ring {
 public:
  // The budget is cut into so many spans, of which the oldest is dropped.
  static constexpr u32 kParts = 16;

  // `max_bytes`: TPROF_MAX_SIZE, which limits what is kept by time.
  void set(const Mode& mode, u64 max_bytes);
  bool is_on() const { return max_chunks_ != 0; }

  // A window begins with its first span. `first_epoch`: chunks from here on may hold events of it.
  // `leader_epoch`: of the process that this one follows. `ns`: CLOCK_MONOTONIC.
  void start(u32 epoch, u32 first_epoch, u32 leader_epoch, u64 ticks, u64 ns);
  void forget() { count_ = pinned_count_ = 0; }  // in a forked child
  // Whether the newest span is large enough, or old enough. `full`: how many chunks were filled so far in this process.
  // The first one may be called by any thread.
  bool is_filled(u32 full) const;
  bool span_is_over(u32 full, u64 ns) const;
  // The next span begins.
  void roll(u32 epoch, u32 leader_epoch, u64 ns, u32 full);
  // All that begins from `ticks` on is in the span of `epoch` or in a later one.
  void span_begins(u32 epoch, u64 ticks);
  // A step begins: a place where the ring may begin.
  void step_begins(u64 ticks);

  // Whether the oldest span is to be dropped. `chunks`: how many the ring has.
  bool is_over(u32 chunks, u64 ns) const;
  // Whether the process that this one follows has dropped what it did during the oldest span.
  bool leader_dropped(u32 leader_kept_epoch) const;
  // Returns where the ring begins then: with the first step in its oldest span, if one begins there.
  u64 drop();

  u32 oldest_epoch() const { return spans_[0].epoch; }
  u32 newest_epoch() const { return spans_[count_ - 1].epoch; }
  // Chunks of this epoch and of later ones may hold events of the window.
  u32 first_epoch() const { return count_ ? spans_[0].first_epoch : 0; }

  // --- windows that have ended, and stay until their traces are written
  void pin(u32 window);
  u32 pinned() const { return pinned_count_; }
  // Chunks of earlier epochs are not needed any more. `given_back`: see FileHeader.
  u32 kept_epoch(u64 given_back);
  // Which epochs are needed: those of windows that wait to be written, and of the ring. Returns how many ranges.
  static constexpr u32 kMaxKept = 9;
  u32 kept_epochs(EpochRange (&out)[kMaxKept]) const;

 private:
  struct Span {
    u32 epoch, first_epoch;  // a span may hold several epochs
    u32 leader_epoch;
    u64 begin_ticks, begin_ns;
    u64 step_ticks;  // of the first step that begins in it, 0: none
  };
  struct Pinned {
    u32 window, first_epoch;
  };
  static constexpr u32 kMaxSpans = 64, kMaxPinned = kMaxKept - 1;
  static constexpr u64 kNotYet = ~u64(0);

  bool can_drop() const { return count_ > 1 && spans_[1].begin_ticks != kNotYet; }

  u32 max_chunks_ = 0;               // 0: not in flight mode
  u64 max_ns_ = 0;                   // 0: not limited by time
  std::atomic<u32> full_before_{0};  // chunks that were full when the newest span began
  u32 count_ = 0, pinned_count_ = 0;
  Pinned pinned_[kMaxPinned] = {};  // the oldest first
  Span spans_[kMaxSpans] = {};
};

}  // namespace tprof
