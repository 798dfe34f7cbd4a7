// Removes a recording that holds nothing. It is renamed first, so that `tprof run`, which watches the directory, can
// tell it from a recording that somebody else deleted.
#pragma once
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

namespace tprof {

constexpr char kEmptySuffix[] = ".empty";

inline void remove_empty(const char* path) {
  char name[PATH_MAX];
  bool fits = snprintf(name, sizeof name, "%s%s", path, kEmptySuffix) < int(sizeof name);
  unlink(fits && rename(path, name) == 0 ? name : path);
}

}  // namespace tprof
