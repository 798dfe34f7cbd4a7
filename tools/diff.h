// What the runs of two sides say of each other: `tprof diff`, and in the page of `tprof report A --vs B`.
#pragma once
#include <string>
#include <vector>

#include "analysis/diff.h"

namespace tprof {

// Reads all of them. `code`: of what could not be read (Inputs::each). Throws Error(kExitUsage) for a trace that is given
// twice on a side.
Diff diff_of(const std::vector<std::string>& of_a, const std::vector<std::string>& of_b, int& code);

}  // namespace tprof
