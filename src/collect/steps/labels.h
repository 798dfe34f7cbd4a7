// Labels are the program's own ranges (record_function, NVTX's push). A step or an evaluation that starts inside labels
// starts where they do; see StepDetector. Kept per thread, innermost last.
#pragma once
#include "collect/recorder/thread.h"
#include "collect/steps/steps.h"

namespace tprof {

inline void label_begins(ThreadBlock* block, u64 ticks) {
  u32 at = block->label_count++;
  if (at < kMaxLabels) block->label_begins[at] = ticks;
}

inline void label_ends(ThreadBlock* block) { block->label_count -= block->label_count != 0; }

// The edge of a step that starts with something at `ticks`.
inline u64 before_labels(const StepDetector& detector, const ThreadBlock* block, u64 ticks) {
  return detector.before_labels(ticks, block->label_begins,
                                block->label_count < kMaxLabels ? block->label_count : kMaxLabels);
}

}  // namespace tprof
