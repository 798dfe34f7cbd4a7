// Which rules an analysis follows: tprof's own, or those of the TensorBoard plugin (torch_tb_profiler 0.4.3).
#pragma once
#include "base/types.h"

namespace tprof {

enum class RuleSet : u8 { tprof = 1, plugin = 2 };

}  // namespace tprof
