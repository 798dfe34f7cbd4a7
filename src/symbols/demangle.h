// Names of functions and kernels as their authors wrote them.
#pragma once
#include <string>

namespace tprof {

// A mangled C++ name in full; any other name as it is.
std::string demangled(const std::string& name);

}  // namespace tprof
