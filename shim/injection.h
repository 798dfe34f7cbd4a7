// The driver's own way to us: cuInit loads the library that CUDA_INJECTION64_PATH names and calls InitializeInjection.
// It reaches what no interposed function sees: static runtimes, programs of the driver API.
#pragma once

namespace tprof {

// Names ourselves there, unless another tool is named. In the constructor.
void injection_install();
// At the end of a program that used CUDA while another tool stood there: the user is owed a word.
void injection_explain();

}  // namespace tprof
