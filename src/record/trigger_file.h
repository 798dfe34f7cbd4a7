// The file beside a recording, <recording>.trigger, by which `tprof trigger` asks its program for a trace. It holds one
// line, "steps N"; 0 is the default number. A number is all that is ever taken from it.
#pragma once
#include "base/types.h"

namespace tprof {

constexpr char kTriggerSuffix[] = ".trigger";
constexpr char kTriggerLine[] = "steps %lld\n";
constexpr i64 kMaxTriggerSteps = 1'000'000;

// The file of a log directory by which a rank tells the others of its job that it was asked for a trace, and the later
// step at which all are to take it. `at`: the time in ns, by which a new request is told from the one before.
constexpr char kRanksFile[] = "ranks.trigger";
constexpr char kRanksLine[] = "rank %d step %lld steps %lld at %llu\n";

}  // namespace tprof
