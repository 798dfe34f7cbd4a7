// The callbacks that torch calls at the start and end of every range (at::RecordFunction).
#pragma once
#include "collect/recorder/thread.h"
#include "collect/torch/layout.h"

namespace tprof {

using RangeStarts = ObserverContext(const void* record_function);
void range_ends(const void* record_function, void* context);

// The callback for starts, once the layouts are known. Under the session's lock. `records`: not only what makes steps
// is reported; then the callback reads inputs, if those are wanted, and has to be registered with needs_inputs.
RangeStarts* ops_start(bool records);
bool ops_read_inputs();

}  // namespace tprof
