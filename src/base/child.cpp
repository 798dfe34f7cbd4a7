#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
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

// All that the child needs, made before it begins: it shares this process's memory until it calls exec.
struct Start {
  char* const* words;
  char* const* variables;
  const ChildOptions& options;
  sigset_t signals;
  volatile int failed = 0;
};

bool take(int from, int to) {
  if (from < 0) return true;
  return from == to ? fcntl(to, F_SETFD, 0) == 0 : dup2(from, to) == to;
}

// The file is put where the others cannot be put over it first.
bool take_all(const ChildOptions& options) {
  constexpr int kOutOfTheWay = 10;
  int file = options.file < 0 ? -1 : fcntl(options.file, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (file < 0 && options.file >= 0) return false;
  return take(options.in, STDIN_FILENO) && take(options.out, STDOUT_FILENO) && take(options.err, STDERR_FILENO) &&
         take(file, kChildFile);
}

// A handler of this process must not run in the child, where it would change this process's memory.
void forget_handlers() {
  struct sigaction action;
  for (int signal = 1; signal < NSIG; signal++) {
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    sigaction(signal, &action, nullptr);
  }
}

[[noreturn, gnu::noinline]] void be_child(Start& start) {
  forget_handlers();
  if (start.options.own_session) setsid();
  if (take_all(start.options)) {
    if (start.options.confined) {
      become_harmless();
      confine(*start.options.confined);
    }
    pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
    execvpe(start.words[0], start.words, start.variables);
  }
  start.failed = errno;
  _exit(127);
}

}  // namespace

int start_child(const std::vector<std::string>& command, const ChildOptions& options, pid_t& pid) {
  std::vector<std::string> words = command, variables = changed_environment(options.environment);
  std::vector<char*> word_list = pointers_to(words), variable_list = pointers_to(variables);
  Start start{word_list.data(), variable_list.data(), options, {}};
  int dumpable = prctl(PR_GET_DUMPABLE);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  start.signals = options.signals_blocked ? all : before;
  pid_t child = vfork();
  if (child == 0) be_child(start);
  if (child < 0) start.failed = errno;
  // A child that became another user took this from the memory that it shared.
  if (options.confined) prctl(PR_SET_DUMPABLE, dumpable);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child > 0 && start.failed) wait_for_child(child);
  if (!start.failed) pid = child;
  return start.failed;
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
