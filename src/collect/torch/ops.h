// The callbacks that torch calls at the start and end of every range (at::RecordFunction).
#pragma once
#include "collect/recorder/thread.h"
#include "collect/torch/layout.h"

namespace tprof {

using RangeStarts = ObserverContext(const void* record_function);
void range_ends(const void* record_function, void* context);

// Returns the callback for starts. Call it when the layouts are known and before the callbacks are registered.
// `reads_inputs`: inputs are recorded, so the callback is registered with needs_inputs.
RangeStarts* ops_prepare(bool reads_inputs);

}  // namespace tprof
