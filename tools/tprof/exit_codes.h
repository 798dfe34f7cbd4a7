// The exit codes of every tprof command.
#pragma once
#include "base/error.h"

namespace tprof {

enum ExitCode : int {
  kExitOk = 0,
  kExitInvalid = 1,  // `tprof check`: the trace is not valid
  kExitFound = 1,    // `tprof advise`, `tprof diff`: what the caller asked to fail on; `tprof hang`: a hang
  kExitUsage = 2,
  kExitUnreadable = 3,
  kExitPartial = 4,  // something was lost, damaged or left out
};

constexpr ExitCode exit_code(Fault fault) {
  switch (fault) {
    case Fault::usage: return kExitUsage;
    case Fault::unreadable: return kExitUnreadable;
    case Fault::partial: return kExitPartial;
  }
  return kExitUnreadable;
}

}  // namespace tprof
