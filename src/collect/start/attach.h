// Starts the session in programs that use CUDA or NVTX. With torch, collect/torch/attach does that. Any other program
// (C++, JAX, CuPy) is attached at its first call into a CUDA runtime, or when the driver loads us
// (InitializeInjection).
#pragma once

namespace tprof {

// At the first call: starts the session unless torch does, and the collection of GPU activities. From any thread, also
// inside cuInit; cheap afterwards. The caller makes sure that a CUDA runtime or driver is loaded.
void cuda_attach();
// At the first call into NVTX: starts the session only.
void nvtx_attach();
// In a forked child: another thread may have been in the middle of the set-up.
void cuda_attach_forget();

}  // namespace tprof
