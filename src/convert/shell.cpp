#include "convert/shell.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/printable.h"

extern char** environ;

namespace tprof {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string shell_quoted(const std::string& text) {
  std::string out = text;
  replace_all(out, "'", "'\\''");
  return "'" + out + "'";
}

void run_on_trace_ready(std::string command, const std::string& path, i64 step) {
  replace_all(command, "{step}", std::to_string(step));
  replace_all(command, "{}", shell_quoted(path));
  const char* argv[] = {"/bin/sh", "-c", command.c_str(), nullptr};
  pid_t pid;
  int status = 0;
  int failed = posix_spawn(&pid, argv[0], nullptr, nullptr, const_cast<char**>(argv), environ);
  if (failed == 0) {
    while (waitpid(pid, &status, 0) < 0)
      if (errno != EINTR) return;  // somebody else waits for all children
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  }
  std::string why = failed                ? strerror(failed)
                    : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit status " + std::to_string(WEXITSTATUS(status));
  print(stderr, "tprof: on_trace_ready failed (" + why + "): " + command + "\n");
}

}  // namespace tprof
