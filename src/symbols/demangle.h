// Readable names of C++ functions and kernels.
#pragma once
#include <string>

namespace tprof {

// The full name for a mangled C++ name; any other name is returned unchanged.
std::string demangled(const std::string& name);

}  // namespace tprof
