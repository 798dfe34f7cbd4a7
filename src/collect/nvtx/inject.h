// How NVTX finds us: through NVTX_INJECTION64_PATH. See abi.h.
#pragma once
#include "collect/nvtx/abi.h"

namespace tprof {

struct Collector;

// From the library's constructor: NVTX_INJECTION64_PATH names `library`, the file of ours, from now on, unless it names
// something already. `attach` starts the session; it is called when NVTX finds us, before the first range.
void nvtx_offer(const char* library, void (*attach)());

// What it does for the session.
extern const Collector kNvtxCollector;

namespace nvtx {

// What the exported InitializeInjectionNvtx... do. 1: we are its tool; 0: nobody is.
int attach_module(GetExportTable get_export_table);
int attach_extension(Extension* extension);

}  // namespace nvtx
}  // namespace tprof
