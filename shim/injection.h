// Attaching through the CUDA driver: cuInit loads the library that CUDA_INJECTION64_PATH names and calls
// InitializeInjection. This covers programs in which nothing can be interposed: static runtimes and the driver API.
#pragma once

namespace tprof {

// Sets CUDA_INJECTION64_PATH to this library, unless another tool is named there, and likewise NCCL_PROFILER_PLUGIN
// (nccl_profiler.cpp). Called by the constructor.
void injection_install();
// Tells the user at the end of a program that used CUDA if CUDA_INJECTION64_PATH named another tool.
void injection_explain();

}  // namespace tprof
