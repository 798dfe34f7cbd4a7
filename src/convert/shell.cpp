#include "convert/shell.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/printable.h"

namespace tprof {
void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

void run_on_trace_ready(std::string command, const std::string& path, i64 step) {
  replace_all(command, "{step}", std::to_string(step));
  replace_all(command, "{}", shell_quote(path));
  pid_t pid;
  int failed = start_child({"/bin/sh", "-c", command}, {}, pid);
  int status = failed ? 0 : wait_for_child(pid);
  if (status < 0 || (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  std::string why = failed                ? strerror(failed)
                    : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit status " + std::to_string(WEXITSTATUS(status));
  print(stderr, "tprof: on_trace_ready failed (" + why + "): " + command + "\n");
}

}  // namespace tprof
