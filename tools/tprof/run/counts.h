// The sentence that says what was counted as steps in all traces of a run (see model/counted.h).
#pragma once
#include "run/closing.h"

namespace tprof {

// Empty if the traces do not say what was counted.
std::string counted_in(const std::vector<NewTrace>& written);

}  // namespace tprof
