// Starting another program, in one way for everything on the tool's side. vfork() is used because fork() copies the
// page tables of a process that may hold a large trace, and not posix_spawn(), which cannot take rights from the child
// before it begins.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/confined.h"

namespace tprof {

// In the child, what ChildOptions::file is.
constexpr int kChildFile = 3;

struct ChildOptions {
  // Variables to set in the child's environment; an empty value removes the variable.
  std::vector<std::pair<std::string, std::string>> environment = {};
  int in = -1, out = -1, err = -1;  // descriptors for its stdin, stdout and stderr; -1: those of this process
  bool own_session = false;         // so that kill(-pid) reaches everything that it starts
  bool signals_blocked = false;     // until it lets them in itself
  int file = -1;                    // another descriptor that it gets; -1: none
  // For what reads bytes that others chose: within these bounds, in a session of its own, harmless (base/confined.h).
  std::optional<Bounds> confined = {};
};

// Starts a program, which is searched for on PATH. Returns 0, or the errno of what failed.
int start_child(const std::vector<std::string>& command, const ChildOptions& options, pid_t& pid);

// Waits for the end of a child and returns its status as waitpid() reports it; -1 if something else in this process has
// waited for it.
int wait_for_child(pid_t pid);

// 'it'\''s': one word for any POSIX shell.
std::string shell_quote(const std::string& text);

}  // namespace tprof
