// The regular expression of TPROF_STEP=range:REGEX and nvtx:REGEX.
#pragma once
#include "base/options.h"

namespace tprof {

extern StepMode g_step_pattern_mode;  // automatic: there is no pattern

// Once, before anything can match.
void set_step_pattern(const StepSource& source);
inline bool step_pattern_is(StepMode mode) { return __builtin_expect(g_step_pattern_mode == mode, 0); }
// Whether it matches. A text is matched once; later its hash is looked up.
bool step_pattern_matches(const char* text);

}  // namespace tprof
