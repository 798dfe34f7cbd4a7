#include "record/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace tprof {
namespace {

const char* kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

int open_regular(const std::string& path, int flags) {
  bool writes = (flags & O_ACCMODE) != O_RDONLY;
  int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (writes ? O_NOFOLLOW : 0), 0666);
  if (fd < 0 && errno == ELOOP && writes)
    throw Error(Fault::unreadable, path + ": is a symbolic link, which is not written through; name the file itself");
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0) throw Error(Fault::unreadable, path + ": cannot be opened: " + strerror(errno));
  if (S_ISREG(s.st_mode)) return fd;
  close(fd);
  throw Error(Fault::unreadable, path + ": is " + kind_of(s.st_mode) + ", not a regular file; left alone");
}

}  // namespace tprof
