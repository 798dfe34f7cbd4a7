// NVTX ranges and marks in the trace: what their args say of domain, category, colour and payload.
#pragma once
#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof::kineto {

// `"domain": "...", "category": "...", "color": "#AARRGGBB", "payload": 1, `: what is there of them.
void put_nvtx(OutputFile& out, const Model& model, const NvtxDetail& detail);

}  // namespace tprof::kineto
