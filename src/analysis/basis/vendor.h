// The vendor of a trace's GPUs, which decides how kernels are named.
#pragma once
#include "model/trace.h"

namespace tprof {

enum class Vendor : u8 { nvidia, amd, other };

// Determined by the calls that launched GPU work (functions of CUDA or HIP), else by the devices' names and properties.
// NVIDIA is assumed for a trace that has neither.
Vendor vendor_of(const Model& model);

}  // namespace tprof
