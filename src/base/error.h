// The exception of the tool side; nothing that runs in a profiled program throws.
#pragma once
#include <stdexcept>
#include <string>

namespace tprof {

// What is at fault. What a command's exit code makes of it stands in tools/tprof/exit_codes.h.
enum class Fault {
  usage,       // an argument, or what the command was asked for
  unreadable,  // a file, or what it holds
  partial,     // something was written, something was lost or damaged
};

// One clear line: what, where, what to do.
struct Error : std::runtime_error {
  Error(Fault is_at_fault, const std::string& line) : std::runtime_error(line), fault(is_at_fault) {}
  Fault fault;
};

}  // namespace tprof
