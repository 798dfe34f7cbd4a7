// Programs without torch that use CUDA or NVTX: begins the session at the first call.
#pragma once

namespace tprof {

void cuda_attach();

}  // namespace tprof
