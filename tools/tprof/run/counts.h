// What the traces of a run hold together, in the words of model/counted.h.
#pragma once
#include "run/closing.h"

namespace tprof {

// "" when they do not say it.
std::string counted_in(const std::vector<NewTrace>& written);

}  // namespace tprof
