// The arguments of an NVTX range or mark in traces.
#pragma once
#include "kineto/argument.h"
#include "model/trace.h"

namespace tprof::kineto {

// Domain, category, colour and payload: those that are set.
std::vector<Argument> nvtx_arguments(const Model& model, const NvtxDetail& detail);

}  // namespace tprof::kineto
