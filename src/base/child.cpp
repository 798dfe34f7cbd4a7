#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tprof {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> changed_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; entry++) {
    std::string text = *entry, name = text.substr(0, text.find('='));
    bool changed = false;
    for (const auto& change : changes) changed |= change.first == name;
    if (!changed) out.push_back(text);
  }
  for (const auto& [name, value] : changes)
    if (!value.empty()) out.push_back(name + "=" + value);
  return out;
}

}  // namespace

int start_child(const std::vector<std::string>& command, const ChildOptions& options, pid_t& pid) {
  std::vector<std::string> words = command, variables = changed_environment(options.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int from[] = {options.in, options.out, options.err};
  for (int to : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (from[to] >= 0) posix_spawn_file_actions_adddup2(&actions, from[to], to);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &all);
  posix_spawnattr_setflags(&attributes, short((options.own_session ? POSIX_SPAWN_SETSID : 0) |
                                              (options.signals_blocked ? POSIX_SPAWN_SETSIGMASK : 0)));
  int failed = posix_spawnp(&pid, words[0].c_str(), &actions, &attributes, pointers_to(words).data(),
                            pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

int wait_for_child(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

std::string shell_quote(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace tprof
