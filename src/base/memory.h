// How much memory there is for this process.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

// The least of what the machine has and what a control group (v1 or v2) of this process, or one above it, may take;
// 0 if nothing of it is known. `proc` and `cgroups`: where those file systems are.
u64 memory_here(const std::string& proc = "/proc", const std::string& cgroups = "/sys/fs/cgroup");

}  // namespace tprof
