// The page of `tprof report`, for `tprof run --report`.
#pragma once
#include <string>

namespace tprof {

// Writes the page about the traces and recordings in a directory. Returns the line that says where it is. Throws Error.
std::string write_report(const std::string& directory, const std::string& out);

}  // namespace tprof
