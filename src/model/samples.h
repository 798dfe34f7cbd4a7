// Samples, from the companion of a recording (record/companion.h) to the Model.
#pragma once
#include "model/stacks.h"
#include "model/tables.h"

namespace tprof {

// Fills Model::samples with those of the span, and Model::sampled. A recording without a companion has none; one that
// cannot be read is reported in Sampled::why_not. Returns the damage of the companion.
Damage load_samples(const Recording& recording, const Meta& meta, i64 from_monotonic_ns, Model& model,
                    FrameTable& frames, ThreadTable& threads);

}  // namespace tprof
