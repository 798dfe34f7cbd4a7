#include "base/plain_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

namespace tprof {
namespace {

// Closes, and returns -1 with this errno.
int fail(int fd, int why) {
  close(fd);
  errno = why;
  return -1;
}

constexpr const char* kForms[] = {"/proc/thread-self/fd/%d", "/proc/self/fd/%d"};

// Opens what an O_PATH descriptor refers to. Where there is no /proc, by its path once more.
int open_found(int found, const struct stat& wanted, int directory, const char* path, int flags) {
  char name[48];
  for (const char* form : kForms) {
    snprintf(name, sizeof name, form, found);
    int fd = open(name, flags & ~O_NOFOLLOW);
    if (fd >= 0 || errno != ENOENT) return fd;
  }
  struct stat s;
  int fd = openat(directory, path, flags);
  if (fd < 0 || (fstat(fd, &s) == 0 && s.st_dev == wanted.st_dev && s.st_ino == wanted.st_ino)) return fd;
  return fail(fd, ESTALE);  // it was exchanged meanwhile
}

}  // namespace

int open_plain_at(int directory, const char* path, int flags, mode_t& kind, mode_t mode) {
  constexpr int kTries = 10;  // somebody may make and remove it all the time
  kind = 0;
  flags |= O_CLOEXEC | O_NONBLOCK | O_NOCTTY | ((flags & O_ACCMODE) != O_RDONLY ? O_NOFOLLOW : 0);
  for (int i = 0; i < kTries; i++) {
    int found = openat(directory, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
    if (found >= 0) {
      struct stat s;
      if (fstat(found, &s) != 0) return fail(found, errno);
      if (S_ISLNK(s.st_mode)) return fail(found, ELOOP);
      if (!S_ISREG(s.st_mode)) return kind = s.st_mode, fail(found, EINVAL);
      int fd = open_found(found, s, directory, path, flags & ~O_CREAT);
      return fd < 0 ? fail(found, errno) : (close(found), fd);
    }
    if (errno != ENOENT || !(flags & O_CREAT)) return -1;
    int fd = openat(directory, path, flags | O_EXCL | O_NOFOLLOW, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

int open_plain(const char* path, int flags) {
  mode_t ignored;
  return open_plain_at(AT_FDCWD, path, flags, ignored);
}

}  // namespace tprof
