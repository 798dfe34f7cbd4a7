#include "convert/shell.h"

#include <string.h>
#include <sys/wait.h>

#include "base/child.h"

namespace tprof {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string run_by_shell(const char* option, std::string command,
                         const std::vector<std::pair<const char*, std::string>>& words) {
  for (const auto& [word, value] : words) replace_all(command, word, value);
  pid_t pid;
  int failed = start_child({"/bin/sh", "-c", command}, {}, pid);
  int status = failed ? 0 : wait_for_child(pid);
  if (status < 0 || (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return "";
  std::string why = failed                ? strerror(failed)
                    : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit status " + std::to_string(WEXITSTATUS(status));
  return std::string(option) + " failed (" + why + ")";
}

}  // namespace tprof
