#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace tprof {

ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, int timeout_s) {
  ChildResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  int pid = fork();
  if (pid == 0) {
    setsid();  // so that a run-away can be ended with all its children
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    for (const auto& [name, value] : environment)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  u64 deadline = clock_ns(CLOCK_MONOTONIC) + u64(timeout_s) * 1'000'000'000u;
  bool late = pid < 0;
  while (!late) {
    pollfd p{ends[0], POLLIN, 0};
    u64 now = clock_ns(CLOCK_MONOTONIC);
    late = now >= deadline || poll(&p, 1, static_cast<int>((deadline - now) / 1'000'000u) + 1) == 0;
    if (late) break;
    char block[4096];
    ssize_t n = read(ends[0], block, sizeof block);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) result.out.append(block, size_t(n));
  }
  close(ends[0]);
  if (pid < 0) return result;
  if (late) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!late) result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace tprof
