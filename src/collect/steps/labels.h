// Labels: ranges of the program's own (record_function, NVTX's push), innermost last, as a step edge sees them: what
// begins a step or an evaluation does so where the label around it began. See StepDetector.
#pragma once
#include "collect/recorder/thread.h"
#include "collect/steps/steps.h"

namespace tprof {

inline void label_begins(ThreadBlock* block, u64 ticks) {
  u32 at = block->label_count++;
  if (at < kMaxLabels) block->label_begins[at] = ticks;
}

inline void label_ends(ThreadBlock* block) { block->label_count -= block->label_count != 0; }

// Where a step that something at `ticks` begins has its edge.
inline u64 before_labels(const StepDetector& detector, const ThreadBlock* block, u64 ticks) {
  return detector.before_labels(ticks, block->label_begins,
                                block->label_count < kMaxLabels ? block->label_count : kMaxLabels);
}

}  // namespace tprof
