// Attaching through the CUDA driver: cuInit loads the library that CUDA_INJECTION64_PATH names and calls
// InitializeInjection. This covers programs in which nothing can be interposed: static runtimes and the driver API.
// NCCL_PROFILER_PLUGIN names a library to NCCL in the same way (nccl_profiler.cpp).
//
// The driver and NCCL ask for both by getenv(), and get the answer there. Nothing is written into the environment:
// a container inherits it, in which this library's file may be missing.
#pragma once

namespace tprof {

// From now on getenv() names this library where the environment names none. Called by the constructor.
void injection_install();
// Tells the user at the end of a program that used CUDA if CUDA_INJECTION64_PATH named another tool.
void injection_explain();

}  // namespace tprof
