// Whose device a trace is of: kernels are named by the libraries of their vendor.
#pragma once
#include "model/trace.h"

namespace tprof {

enum class Vendor : u8 { nvidia, amd, other };

// By the calls that launched the work (CUDA's or HIP's functions), else by the devices' names and properties. A trace
// that says nothing of either is taken as NVIDIA's.
Vendor vendor_of(const Model& model);

}  // namespace tprof
