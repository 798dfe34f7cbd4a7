// The exception of the tool side; nothing that runs in a profiled program throws.
#pragma once
#include <stdexcept>
#include <string>

#include "base/string_once.h"

namespace tprof {

// What is at fault. tools/tprof/exit_codes.h maps it to the exit code of a command.
enum class Fault {
  usage,       // an argument, or what was requested
  unreadable,  // a file, or its contents
  partial,     // something was written, something was lost or damaged
};

// One clear line: what, where, what to do.
struct Error : std::runtime_error {
  Error(Fault is_at_fault, const std::string& line) : std::runtime_error(line), fault(is_at_fault) {}
  Fault fault;
};

}  // namespace tprof
