#include "finish/death.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "hang/look.h"
#include "input/trace_file.h"
#include "record/reader.h"
#include "record/regular_file.h"

namespace tprof {
namespace {

// struct pidfd_info of Linux 6.13, whose exit status is there since 6.15; headers do not have it yet.
struct PidfdInfo {
  u64 mask, cgroup;
  u32 ids[11];
  i32 status;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr u64 kStatus = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

int signal_in(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

// Of a process whose parent has taken note of its end.
int signal_of_reaped(int pidfd) {
  PidfdInfo info = {};
  info.mask = kStatus;
  bool known = pidfd >= 0 && ioctl(pidfd, kGetInfo, &info) == 0 && (info.mask & kStatus);
  return known ? signal_in(info.status) : 0;
}

}  // namespace

int signal_of_death(int pid, u64 start_time, int pidfd) {
  int signal = hang::look_at(pid, start_time).signal;  // if its parent has not yet taken note
  return signal ? signal : signal_of_reaped(pidfd);
}

void note_death(const std::string& directory, int pid, int signal) {
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      std::unique_ptr<Recording> recording = Recording::open(path);
      const FileHeader& header = recording->header();
      bool same = header.pid == u32(pid) && !header.closed && !strcmp(header.boot_id, process_identity(pid).boot_id);
      if (!same) continue;
      int fd = open_regular(path, O_RDWR);
      u32 value = u32(signal);
      (void)!pwrite(fd, &value, sizeof value, offsetof(FileHeader, killed_by));
      close(fd);
    } catch (const Error&) {  // it is damaged, or gone
    }
}

}  // namespace tprof
