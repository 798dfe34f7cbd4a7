// The callbacks that torch calls at the begin and end of every range (at::RecordFunction).
#pragma once
#include "collect/recorder/thread.h"
#include "collect/torch/layout.h"

namespace tprof {

using RangeStarts = ObserverContext(const void* record_function);
void range_ends(const void* record_function, void* context);

// Before the callbacks are registered, layouts known: the one for begins. `reads_inputs`: it is registered with
// needs_inputs, and they are to be recorded.
RangeStarts* ops_prepare(bool reads_inputs);

}  // namespace tprof
