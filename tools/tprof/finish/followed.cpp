#include "finish/followed.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "record/regular_file.h"

namespace tprof {

Followed::Followed(const std::string& path)
    : path_(path), parent_(getppid()), fd_(open_regular(path, O_RDONLY)), recording_(Recording::open(path)) {
  pid_ = int(recording_->header().pid);
#ifdef SYS_pidfd_open
  pidfd_ = int(syscall(SYS_pidfd_open, pid_, 0));
#endif
  // Without a pidfd (old kernels) writer_alive() is asked. A pid that another process has by now is not watched.
  if (pidfd_ >= 0 && !recording_->writer_alive()) close(pidfd_), pidfd_ = -1;
}

Followed::~Followed() {
  if (pidfd_ >= 0) close(pidfd_);
  if (fd_ >= 0) close(fd_);
}

template <class T>
T Followed::read_at(size_t offset) const {
  T value = 0;
  return pread(fd_, &value, sizeof value, off_t(offset)) == sizeof value ? value : 0;
}
template u32 Followed::read_at(size_t) const;
template u64 Followed::read_at(size_t) const;

bool Followed::process_ended() const {
  pollfd p{pidfd_, POLLIN, 0};
  return pidfd_ >= 0 ? poll(&p, 1, 0) > 0 : !recording_->writer_alive();
}

bool Followed::ended() const {
  struct stat s;
  return getppid() != parent_ || process_ended() || fstat(fd_, &s) != 0 || s.st_nlink == 0 ||
         word(offsetof(FileHeader, closed)) != 0;
}

pid_t start_beside(const char* command, const std::string& recording) {
  char self[4096];
  ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
  pid_t pid;
  if (bytes <= 0) return -1;
  std::string tool(self, size_t(bytes));
  return start_child({tool, command, recording}, {.signals_blocked = true}, pid) == 0 ? pid : -1;
}

}  // namespace tprof
