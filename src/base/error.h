// The exception of the tool side (never used inside a profiled program).
#pragma once
#include <stdexcept>
#include <string>

namespace tprof {

// Exit codes of every tprof command.
enum ExitCode : int {
  kExitOk = 0,
  kExitInvalid = 1,     // `tprof check`: the trace is not valid
  kExitFound = 1,       // `tprof advise`, `tprof diff`: what the caller asked to fail on
  kExitUsage = 2,
  kExitUnreadable = 3,
  kExitPartial = 4,     // something was written, something was lost or damaged
};

// One clear line: what, where, what to do.
struct Error : std::runtime_error {
  Error(ExitCode exit_code, const std::string& line) : std::runtime_error(line), code(exit_code) {}
  ExitCode code;
};

}  // namespace tprof
