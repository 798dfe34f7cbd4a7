// How the clocks of a job's machines differ, from collectives that several of them took part in.
//
// Ranks of the same boot share a clock. For others, the ends of a collective, which all ranks leave together, are
// compared: the median of the differences is the offset, and the quartiles show how much they scatter. Since no rank
// can leave an all-reduce (all-gather, reduce-scatter, all-to-all, barrier) before the last one has entered it, the
// offset has hard limits as well: each call of one machine ended after those of the other had begun. They are the error
// that is stated; leaving a little later each time, which no median can tell from a clock, cannot exceed them. Clocks
// that drift apart further than that while they are compared have no such limits, and the quartiles are stated.
//
// Ranks of one boot whose calls contradict a common clock (it was set, or the times of a trace were moved) are compared
// like machines of their own.
#pragma once
#include "analysis/ranks/rank.h"

namespace tprof {

struct Clock {
  std::vector<u32> ranks;       // indices into the ranks; the first clock is what others are compared with
  std::string host;             // of its first rank; empty: not known
  bool known = false;           // false: no collective is shared with a clock that is known
  bool drifts = false;          // no one offset agrees with all collectives
  i64 offset_ns = 0;            // how far it is ahead of the first clock
  i64 low_ns = 0, high_ns = 0;  // between which the offset must be
  i64 lower_quartile_ns = 0, upper_quartile_ns = 0;  // of the differences of ends
  u64 collectives = 0;                               // that were compared

  i64 error_ns() const { return high_ns - offset_ns > offset_ns - low_ns ? high_ns - offset_ns : offset_ns - low_ns; }
  // Whether it certainly differs from the first clock, by so much that times are better moved than left.
  bool differs() const { return known && (offset_ns > error_ns() || -offset_ns > error_ns()); }
};

struct Clocks {
  std::vector<Clock> clocks;
  std::vector<u32> of_rank;  // index into `clocks`

  // What to add to the times of a rank so that they are on the first clock.
  i64 shift_ns(u32 rank) const {
    const Clock& clock = clocks[of_rank[rank]];
    return clock.differs() ? -clock.offset_ns : 0;
  }
};

Clocks clocks_of(const std::vector<Rank>& ranks);

}  // namespace tprof
