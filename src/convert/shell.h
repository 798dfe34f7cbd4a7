// Commands that a user has run when something is ready, and the words that they may hold.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tprof {

void replace_all(std::string& text, const std::string& what, const std::string& with);

// Runs the command of an option (on_trace_ready) by the shell, with its words, such as {step}, replaced one after the
// other. Their values come from us and are safe for a shell. Returns one line if it fails, else nothing; nothing else
// follows from a failure. Others may read the line: it does not hold the command.
std::string run_by_shell(const char* option, std::string command,
                         const std::vector<std::pair<const char*, std::string>>& words);

}  // namespace tprof
