// All that happened, as viewers draw it: a track for each thread, lane, stream of a GPU, row of waits and of overhead,
// with the slices that a trace shows there (kineto/write), in rows.
//
// A slice lies in the first free row below all slices that hold it whole. Where slices nest, as those of threads do,
// that row is the number of slices around it; slices of a stream that cross each other lie in different rows. Slices of
// a row never overlap.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/intervals.h"
#include "model/trace.h"

namespace tprof {

enum class SliceKind : u8 {
#define SLICE_KIND(kind, name, category) kind,
#include "analysis/tables/slice_kinds.def"
#undef SLICE_KIND
};
const char* name_of(SliceKind kind);

struct Slice {
  i64 begin_ns, dur_ns;  // dur_ns >= 0
  u32 name;              // index into Model::names
  u32 source;            // index into Model::events, calls or gpu
  SliceKind kind;

  i64 end_ns() const { return begin_ns + dur_ns; }
  bool is_call() const { return kind == SliceKind::runtime || kind == SliceKind::driver; }
  bool is_event() const { return kind < SliceKind::runtime; }
};

struct TrackRow {
  size_t first, n;  // of Tracks::slices
};

enum class TrackKind : u8 { thread, lane, stream, sync, overhead };
const char* name_of(TrackKind kind);

struct Track {
  TrackKind kind;
  i64 thread = -1;    // OS thread id of its owner, -1: it is no thread
  std::string key;    // unique: "thread/71", "lane/10000000", "gpu/0/stream/7", "gpu/0/sync/7", "overhead/71"
  std::string group;  // "host", "gpu 0", "overhead"
  std::string title;  // for people
  std::vector<TrackRow> rows;
  size_t slices = 0;
  i64 busy_ns = 0;  // in which a slice lies
  i64 first_ns = 0, last_ns = 0;
};

// From a call to what it launched, or from a forward operator to its backward.
struct SliceFlow {
  u32 from, to;  // indices into Tracks::slices
  auto operator<=>(const SliceFlow&) const = default;
};

struct Tracks {
  std::vector<Track> tracks;                // threads in order of the Model, then streams by device, then overhead
  std::vector<Slice> slices;                // track by track, row by row, in order of time
  std::vector<SliceFlow> launch, backward;  // sorted
  size_t left_out = 0;                      // slices that were not asked for
};

// Which slices are asked for.
struct TrackChoice {
  bool functions = true;               // Python functions that are no modules
  const IntervalSet* times = nullptr;  // only what overlaps these; nullptr: all
};

Tracks tracks_of(const Model& model, const TrackChoice& choice = {});

}  // namespace tprof
