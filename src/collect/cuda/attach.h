// Programs that use CUDA without torch: the session begins at their first CUDA call.
#pragma once

namespace tprof {

// Idempotent. Any thread, also inside cuInit.
void cuda_attach();

}  // namespace tprof
