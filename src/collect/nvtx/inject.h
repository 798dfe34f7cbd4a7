// How NVTX finds us: through NVTX_INJECTION64_PATH. See abi.h.
#pragma once
#include "collect/nvtx/abi.h"

namespace tprof {

// From the library's constructor: NVTX_INJECTION64_PATH names us from now on, unless it names something already.
void nvtx_offer();

// A session begins: whether NVTX will reach us goes into its recording; where another tool has the variable, a line says
// so if this process may speak.
void nvtx_note(bool speaks);

namespace nvtx {

// What the exported InitializeInjectionNvtx... do. 1: we are its tool; 0: nobody is.
int attach_module(GetExportTable get_export_table);
int attach_extension(Extension* extension);

}  // namespace nvtx
}  // namespace tprof
