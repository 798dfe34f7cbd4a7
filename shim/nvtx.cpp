// What NVTX calls in the library that NVTX_INJECTION64_PATH names: at the first NVTX call of each module, and of each extension
// of NVTX in it.
#include "collect/nvtx/inject.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(tprof::nvtx::GetExportTable get) { return tprof::nvtx::attach_module(get); }
// Where NVTX 2 looks next.
EXPORT int InitializeInjectionNvtx(tprof::nvtx::GetExportTable get) { return tprof::nvtx::attach_module(get); }
EXPORT int InitializeInjectionNvtxExtension(tprof::nvtx::Extension* extension) {
  return tprof::nvtx::attach_extension(extension);
}
