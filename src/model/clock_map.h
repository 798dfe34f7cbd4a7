// Maps ticks and wall time to the one time of the Model.
//
// Ticks are mapped to CLOCK_MONOTONIC first (piecewise linear between the clock triples of a recording) and from there
// to wall time by ONE offset, that at the start of the span: a change of the wall clock inside a span must not distort
// it. CUPTI's stamps are CLOCK_REALTIME; the offset at which they were taken maps them back to CLOCK_MONOTONIC.
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"
#include "record/reader.h"

namespace tprof {

class ClockMap {
 public:
  // `created_ns` is the time of a recording without any triple. `same_boot`: the clocks of this machine have run on
  // since the recording was made.
  ClockMap(std::vector<ClockTriple> triples, ClockKind kind, u64 created_ns, bool same_boot);

  i64 monotonic_ns(u64 ticks) const;

  // Wall time minus monotonic time around `ticks`.
  i64 wall_offset_ns(u64 ticks) const;
  i64 realtime_ns(u64 ticks) const { return monotonic_ns(ticks) + wall_offset_ns(ticks); }

  // The monotonic time at which CLOCK_REALTIME was `realtime_ns`. If the clock was set back and showed that time twice,
  // the one nearer to a triple.
  i64 monotonic_of_wall(u64 realtime_ns) const;
  // The inverse of monotonic_ns(), within rounding.
  u64 ticks_at(i64 monotonic_ns) const;

  // Times further than a day from every triple are damage.
  bool is_sane(i64 monotonic_ns) const;

  // ns per tick over the whole recording.
  double rate() const { return rate_; }

  // One line if times are doubtful, else empty.
  const std::string& doubt() const { return doubt_; }

 private:
  // Triples between which the wall clock was not set.
  struct Era {
    i64 offset_ns;          // wall time minus monotonic time
    i64 first_ns, last_ns;  // monotonic times of its first and last triple
  };
  void find_eras();

  std::vector<ClockTriple> triples_;
  std::vector<Era> eras_;
  double rate_ = 1;
  std::string doubt_;
};

// event_ticks() for any record, with the stamps of CUPTI mapped to ticks. 0: no event, or a stamp was lost.
u64 stamp_of(const RecordView& view, const ClockMap& clock);

}  // namespace tprof
