#include "record/regular_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/plain_file.h"

namespace tprof {
namespace {

const char* kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

// Set once, before there are threads; empty: anything may be read.
std::string g_below;

// As open_plain_at() for a path below g_below.
int open_below(const std::string& path, int flags, mode_t& kind) {
  if (!path.starts_with(g_below + "/")) return errno = EACCES, -1;
  int at = open(g_below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (size_t begin = g_below.size() + 1, end; at >= 0 && begin <= path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    bool is_last = end == path.size(), leads_up = part == "..";
    int next = leads_up  ? -1
               : is_last ? open_plain_at(at, part.c_str(), flags | O_NOFOLLOW, kind)
                         : openat(at, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int why = leads_up ? EACCES : errno;
    close(at);
    errno = why;
    at = next;
  }
  return at;
}

}  // namespace

void read_only_below(const std::string& directory) { g_below = directory; }

int open_regular(const std::string& path, int flags) {
  bool writes = (flags & O_ACCMODE) != O_RDONLY;
  mode_t kind = 0;
  int fd =
      writes || g_below.empty() ? open_plain_at(AT_FDCWD, path.c_str(), flags, kind) : open_below(path, flags, kind);
  if (fd >= 0) return fd;
  if (kind) throw Error(Fault::unreadable, path + ": is " + kind_of(kind) + ", not a regular file; left alone");
  if (errno == ELOOP && writes)
    throw Error(Fault::unreadable, path + ": is a symbolic link, which is not written through; name the file itself");
  throw Error(Fault::unreadable, path + ": cannot be opened: " + strerror(errno));
}

}  // namespace tprof
