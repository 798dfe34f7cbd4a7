// The command that a user has run for each trace, and the words that it may hold.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

void replace_all(std::string& text, const std::string& what, const std::string& with);

// Runs the command with {} and {step} replaced. A failure is reported on stderr; nothing else follows from it.
void run_on_trace_ready(std::string command, const std::string& path, i64 step);

}  // namespace tprof
