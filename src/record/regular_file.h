// Opening the files of a log directory, into which others may write too.
#pragma once
#include <string>

namespace tprof {

// `flags` as for open(2). Throws Error if there is no such file, or one that is a pipe, a socket, a device or a
// directory: those are not even opened (base/plain_file.h). For writing, the last part of `path` must not be a symbolic
// link.
int open_regular(const std::string& path, int flags);

// From now on open_regular() opens for reading only what lies below `directory`, an absolute path, and follows no
// symbolic link on the way there: for a process that reads for others what they choose (tprof view).
void read_only_below(const std::string& directory);

}  // namespace tprof
