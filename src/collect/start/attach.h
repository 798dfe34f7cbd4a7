// Programs that use CUDA. With torch, torch's own way in (collect/torch/attach) begins the session. Any other one
// (C++, JAX, CuPy) is joined at its first call into a CUDA runtime, or when the driver loads us (InitializeInjection).
#pragma once

namespace tprof {

// At the first call: begins the session where that is CUDA's part, and starts what watches the GPU. Any thread, also
// inside cuInit; cheap afterwards. The caller makes sure that there is a CUDA runtime, or driver, to be called.
void cuda_attach();
// At the first call into NVTX: the session alone.
void nvtx_attach();
// In a forked child: another thread may have been at it.
void cuda_attach_forget();

}  // namespace tprof
