#include "model/spans.h"

#include <algorithm>

#include "model/settled.h"

namespace tprof {
namespace {

// Where a span may end: where a step, an evaluation or a batch of one begins, and at the end. What precedes the first
// one belongs to it.
std::vector<u64> edges_of(const Meta& meta, const std::vector<StepInfo>& steps, const SpanRequest& whole) {
  std::vector<u64> all;
  for (const StepInfo& s : steps) all.push_back(s.begin_ticks);
  for (const StretchInfo& s : settled_stretches(meta, whole.before_training)) {
    if (s.flags & kStretchInside) continue;
    all.push_back(s.begin_ticks);
    auto part = std::upper_bound(meta.stretch_parts.begin(), meta.stretch_parts.end(), s.begin_ticks);
    for (; part != meta.stretch_parts.end() && (!s.end_ticks || *part < s.end_ticks); ++part) all.push_back(*part);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  auto first = std::upper_bound(all.begin(), all.end(), whole.begin_ticks);
  auto last = std::lower_bound(first, all.end(), whole.end_ticks);
  if (first == all.begin() && first != last) ++first;
  std::vector<u64> edges(first, last);
  edges.push_back(whole.end_ticks);
  return edges;
}

}  // namespace

std::vector<SpanCut> cut_spans(Recording& recording, const Meta& meta, const SpanRequest& whole, u64 max_events) {
  std::vector<u64> begins;
  ClockMap clock = clock_of(recording, meta);
  recording.for_each_data(whole.first_epoch, whole.last_epoch, [&](const RecordView& view) {
    u64 ticks = stamp_of(view, clock);
    if (ticks >= whole.begin_ticks && ticks < whole.end_ticks) begins.push_back(ticks);
  });
  std::sort(begins.begin(), begins.end());
  auto index_at = [&](u64 ticks) {
    return u64(std::lower_bound(begins.begin(), begins.end(), ticks) - begins.begin());
  };

  std::vector<StepInfo> steps = settled_steps(meta, whole.before_training);
  std::vector<u64> edges = edges_of(meta, steps, whole);

  std::vector<SpanCut> cuts;
  u64 begin = whole.begin_ticks, begin_index = 0;
  auto cut_at = [&](u64 ticks, u64 index) {
    SpanCut cut{begin, ticks, index - begin_index, -1, -1};
    for (const StepInfo& s : steps) {
      if (s.begin_ticks < begin || s.begin_ticks >= ticks) continue;
      if (cut.first_step < 0) cut.first_step = s.number;
      cut.end_step = s.number + 1;
    }
    if (cut.events) cuts.push_back(cut);
    begin = ticks;
    begin_index = index;
  };
  u64 fits = begin;  // the last possible end at which the current span is small enough
  for (u64 edge : edges) {
    while (index_at(edge) - begin_index > max_events) {
      if (fits > begin) {
        cut_at(fits, index_at(fits));
        continue;
      }
      // A single step is too large. Events with the same stamp stay together unless the step has no others.
      u64 ticks = begins[begin_index + max_events];
      u64 index = index_at(ticks);
      if (index == begin_index) index = u64(std::upper_bound(begins.begin(), begins.end(), ticks) - begins.begin());
      ticks = index < begins.size() ? begins[index] : edge;
      cut_at(std::min(ticks, edge), std::min(index, index_at(edge)));
      fits = begin;
      if (begin >= edge) break;
    }
    fits = edge;
  }
  if (begin < whole.end_ticks) cut_at(whole.end_ticks, index_at(whole.end_ticks));
  return cuts;
}

}  // namespace tprof
