#include "finish/finisher_lock.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/plain_file.h"
#include "command.h"
#include "record/reader.h"

namespace tprof {

bool has_finisher(const std::string& recording) {
  int fd = open_plain(recording.c_str(), O_RDONLY);
  if (fd < 0) return false;
  bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return held;
}

void wait_for_finisher(const std::string& recording) {
  complain(recording + ": its last trace is being written; waiting for it (Ctrl-C: do not wait)");
  while (has_finisher(recording)) usleep(50'000);
}

u32 how_closed(const std::string& recording) {
  try {
    return Recording::open(recording)->header().closed;
  } catch (const Error&) {
    return access(recording.c_str(), F_OK) != 0 ? kClosedFinished : 0;
  }
}

}  // namespace tprof
