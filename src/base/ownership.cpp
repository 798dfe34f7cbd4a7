#include "base/ownership.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tprof {
namespace {

bool others_can_change(const struct stat& s) {
  if (s.st_uid != 0 && s.st_uid != geteuid()) return true;
  mode_t others = S_IWOTH | (s.st_gid == getegid() ? 0 : S_IWGRP);
  bool keeps_to_owners = S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX);
  return (s.st_mode & others) && !keeps_to_owners;
}

}  // namespace

bool only_root_and_we_can_change(int file, const std::string& path) {
  char resolved[PATH_MAX];
  struct stat open, s;
  if (!realpath(path.c_str(), resolved) || fstat(file, &open) != 0 || stat(resolved, &s) != 0) return false;
  if (open.st_dev != s.st_dev || open.st_ino != s.st_ino || others_can_change(open)) return false;
  for (std::string at = resolved; at.size() > 1;) {
    at.resize(std::max<size_t>(at.rfind('/'), 1));
    if (stat(at.c_str(), &s) != 0 || others_can_change(s)) return false;
  }
  return true;
}

}  // namespace tprof
