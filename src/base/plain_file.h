// Opening a file in whose place others may have put something else. What is no regular file is not opened at all:
// opening alone wakes who waits at a pipe, and makes some devices act. Nothing is thrown and no lock taken, so it may
// run inside the profiled program.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file_modes.h"

namespace tprof {

// As openat(2), close-on-exec. For writing, the last part of `path` must not be a symbolic link, whatever the flags
// are (ELOOP). With O_CREAT a file that is not there is made, with `mode` less the umask. Returns -1
// with errno. Where something else than a regular file stands there, `kind` is its mode, else 0.
int open_plain_at(int directory, const char* path, int flags, mode_t& kind, mode_t mode = kUmaskMode);

// As open(2), in the same way.
int open_plain(const char* path, int flags);

}  // namespace tprof
