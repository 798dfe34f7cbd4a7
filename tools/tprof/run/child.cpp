#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"

namespace tprof {
namespace {

constexpr int kNotStarted = 127;  // as a shell reports it

// Appends what can be read to `text`. False when the deadline passes before the end.
bool read_until_end(int from, u64 deadline_ns, std::string& text) {
  for (;;) {
    pollfd p{from, POLLIN, 0};
    u64 now = clock_ns(CLOCK_MONOTONIC);
    if (now >= deadline_ns || poll(&p, 1, int((deadline_ns - now) / 1'000'000u) + 1) == 0) return false;
    char block[4096];
    ssize_t n = read(from, block, sizeof block);
    if (n == 0 || (n < 0 && errno != EINTR)) return true;
    if (n > 0) text.append(block, size_t(n));
  }
}

}  // namespace

std::string ChildResult::last_line() const {
  size_t end = out.find_last_not_of("\n "), from = out.rfind('\n', end) + 1;  // 0 without one
  return end == out.npos ? "" : out.substr(from, end + 1 - from);
}

ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, int timeout_s) {
  ChildResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  pid_t pid;
  int failed = start_child(command, {environment, null, ends[1], ends[1], true}, pid);
  close(ends[1]);
  if (null >= 0) close(null);
  if (failed) {
    result.status = kNotStarted;
  } else {
    bool ended = read_until_end(ends[0], clock_ns(CLOCK_MONOTONIC) + u64(timeout_s) * 1'000'000'000u, result.out);
    if (!ended) kill(-pid, SIGKILL);
    int status = wait_for_child(pid);
    if (ended && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    if (ended) result.status = result.signal ? 128 + result.signal : WEXITSTATUS(status);
  }
  close(ends[0]);
  return result;
}

}  // namespace tprof
