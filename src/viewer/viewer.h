// The page of `tprof report`, without its data: built from the sources beside this file and kept in the binary.
#pragma once
#include <string>

namespace tprof {

// HTML; empty where it was built with -Dviewer=off.
const std::string& viewer_page();

}  // namespace tprof
