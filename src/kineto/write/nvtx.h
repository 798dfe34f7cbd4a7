// The args of NVTX ranges and marks: domain, category, colour and payload.
#pragma once
#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof::kineto {

// `"domain": "...", "category": "...", "color": "#AARRGGBB", "payload": 1, `: those that are set.
void put_nvtx(OutputFile& out, const Model& model, const NvtxDetail& detail);

}  // namespace tprof::kineto
