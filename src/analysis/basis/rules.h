// Whose rules an analysis follows where ours and those of the TensorBoard plugin (torch_tb_profiler 0.4.3) differ.
#pragma once
#include "base/types.h"

namespace tprof {

enum class Rules : u8 { tprof = 1, plugin = 2 };

}  // namespace tprof
