// Labels: ranges of the program's own (record_function, NVTX's push), innermost last, as a step edge sees them: a forward
// or a batch begins a step where the label around it began, and the edge behind an optimizer moves to the end of the
// label around it. See StepDetector.
#pragma once
#include "collect/session.h"
#include "collect/thread.h"

namespace tprof {

inline void label_begins(ThreadBlock* block, u64 ticks) {
  u32 at = block->label_count++;
  if (at < kMaxLabels) block->label_begins[at] = ticks;
}

__attribute__((noinline)) inline void edge_behind_label(u32 tid, u64 begin) {
  g_session.token(tid, false, [=](StepDetector& d) { d.label_ends(now_ticks(), begin); });
}

inline void label_ends(ThreadBlock* block) {
  if (block->label_count == 0) return;
  u32 at = --block->label_count;
  if (__builtin_expect(g_session.edge_may_move(), 0) && at < kMaxLabels)
    edge_behind_label(block->tid, block->label_begins[at]);
}

// Where a step that something at `ticks` begins has its edge.
inline u64 before_labels(const StepDetector& detector, const ThreadBlock* block, u64 ticks) {
  return detector.before_labels(ticks, block->label_begins,
                                block->label_count < kMaxLabels ? block->label_count : kMaxLabels);
}

}  // namespace tprof
