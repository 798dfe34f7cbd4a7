// Opening the files of a log directory, into which others may write too.
#pragma once
#include <string>

namespace tprof {

// `flags` as for open(2). Throws Error if there is no such file, or one that is a pipe, a socket, a device or a
// directory: those may hold up whoever reads them, for ever. To write, the last part of `path` must be no symbolic link.
int open_regular(const std::string& path, int flags);

}  // namespace tprof
