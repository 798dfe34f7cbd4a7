// How NVTX finds us: through NVTX_INJECTION64_PATH. See abi.h.
#pragma once
#include "collect/nvtx/abi.h"

namespace tprof {

struct Collector;

// Called by the library's constructor. Sets NVTX_INJECTION64_PATH to `library`, our own file, unless it is already set.
// `attach` starts the session; it is called when NVTX finds us, before the first range.
void nvtx_offer(const char* library, void (*attach)());

// Its functions for the session.
extern const Collector kNvtxCollector;

namespace nvtx {

// What the exported InitializeInjectionNvtx... functions do. 1: tprof is the tool of the module; 0: there is none.
int attach_module(GetExportTable get_export_table);
int attach_extension(Extension* extension);

}  // namespace nvtx
}  // namespace tprof
