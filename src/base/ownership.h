// Who can change a file.
#pragma once
#include <string>

namespace tprof {

// Whether nobody but root and this process's user and group can change an open file, or put another one at its path:
// neither the file nor a directory on the way to it. Of a path that leads elsewhere from here, as those of a container
// may, nothing is known: false.
bool only_root_and_we_can_change(int file, const std::string& path);

}  // namespace tprof
