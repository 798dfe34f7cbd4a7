// The page of `tprof report`, for `tprof run --report`.
#pragma once
#include <string>

namespace tprof {

// Of what lies in a directory. Returns the line that says where the page is. Throws Error.
std::string write_report(const std::string& directory, const std::string& out);

}  // namespace tprof
