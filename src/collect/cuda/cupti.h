// What watches the GPU: CUPTI's activity records.
#pragma once

namespace tprof {

// This process uses CUDA.
inline void cupti_wanted() {}

}  // namespace tprof
