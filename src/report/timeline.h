// The timeline packed for the page: every slice of tracks_of(), its arrows, arguments and call stacks, and counters.
//
// Each column is a blob of its own (report/page.h), so that the page unpacks only what it needs, and `--sizes` can say
// what each of them takes. "varint", "zigzag": report/varint.h. Slices are in the order of Tracks::slices. Times are in
// ns since the span's begin. "text": a varint, the number of bytes, and a JSON value. A column of n values that is
// coded "by guess" has for each value 0 if it is the one that was there the last time in the same surroundings
// (Guesser), else 1 + the value.
//
//   head       text: {"n", "tracks": [{"key", "kind", "group", "title", "thread", "rows": [slices of each]}],
//              "entries": [[name, category]]}, where an entry is what slices say by one number
//   entry      of each slice, by guess after the two entries before it in its row
//   begin      of each slice: varint of its start less the end of the slice before it in its row; of the first one of a
//              row its start itself: varint, 1 if it is negative, and varint, how much
//   duration   of each slice: varint
//   launch     arrows from calls: text [number], then for each arrow, in order of the first slice and then the second,
//              varint of the slice less that of the arrow before, zigzag of the slice that it points to less the one
//              before
//   backward   the same for forward -> backward
//   counters   text: [{"key", "group", "title", "unit", "points", "as"}], then the points of each: the time of the
//              first one as in "begin", of the others varint of the time less the one before; then the values: "whole":
//              varint, 0 not known, else 1 + zigzag of the value less the last known one; "double": 8 bytes of IEEE
//              754, little-endian
//   sets       text: {"keys": [text], "values": [text], "numbers": ["whole" or "float"], "sets": n}; then each set of
//              arguments: varint, its bytes, and varints: 2 * key + 1 and the value; or for what differs from slice to
//              slice 2 * (number + numbers * key)
//   set        of each slice: 0 none, 1 + number of the set, by guess after its entry and the set of the one before
//   numbers    of each of "numbers": varint, its bytes, and its values in all slices whose set has it; "whole": zigzag
//              of the value less the one before; "float": varint of the bits (IEEE 754, 32 bits)
//   frames     text: {"texts": [text]}, then varint, the number of frames, and of each: varint of its own number less
//              that of its caller, which comes before it (numbers from 1; 0: none calls it), varint of its text
//   stack      of each slice: 0 none, or its innermost frame, by guess after its entry and the stack of the one before
#pragma once
#include "analysis/tables/counters.h"
#include "analysis/tables/tracks.h"
#include "report/table.h"

namespace tprof {

struct TimelineColumn {
  const char* name;
  std::string bytes;
};
std::vector<TimelineColumn> packed_timeline(const Model& model, const Tracks& tracks,
                                            const std::vector<Counter>& counters);

}  // namespace tprof
