// The slices of each track by name: what a selection of a range of time says.
#pragma once
#include "analysis/tables/tracks.h"

namespace tprof {

// A slice overlaps [begin, end) if they have more than a moment in common; one without duration if it lies in there.
struct SliceRange {
  i64 begin_ns = INT64_MIN, end_ns = INT64_MAX;

  bool holds(const Slice& s) const {
    return s.dur_ns ? s.begin_ns < end_ns && s.end_ns() > begin_ns : begin_ns <= s.begin_ns && s.begin_ns < end_ns;
  }
};

struct SliceSum {
  u32 track, name;  // indices into Tracks::tracks and Model::names
  SliceKind kind;
  u64 count = 0;
  i64 total_ns = 0;  // inside of the range, as all times here
  i64 self_ns = 0;   // without that in which a slice of a row below lies
  i64 min_ns = 0, max_ns = 0;
};

// By track, largest total first, then by name and kind; names of several kinds have a sum for each.
std::vector<SliceSum> slice_sums(const Model& model, const Tracks& tracks, const SliceRange& range);

}  // namespace tprof
