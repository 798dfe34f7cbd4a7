// The callbacks that torch calls at the begin and end of every range (at::RecordFunction).
#pragma once
#include "collect/torch/layout.h"

namespace tprof {

ObserverContext range_starts(const void* record_function);
void range_ends(const void* record_function, void* context);

// Whether ranges come with inputs that are to be recorded (the callback was registered with needs_inputs).
void set_reads_inputs(bool on);

// TPROF_STEP=range:REGEX, compiled; once, before the first range.
void set_step_pattern(const char* pattern);

}  // namespace tprof
