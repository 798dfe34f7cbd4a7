// The functions that NVTX calls in the library that NVTX_INJECTION64_PATH names: at the first NVTX call of each module,
// and at the first call of each extension of NVTX in it.
#include "collect/nvtx/inject.h"
#include "export.h"

extern "C" EXPORT int InitializeInjectionNvtx2(tprof::nvtx::GetExportTable get) {
  return tprof::nvtx::attach_module(get);
}
// The name that NVTX 2 looks for next.
extern "C" EXPORT int InitializeInjectionNvtx(tprof::nvtx::GetExportTable get) {
  return tprof::nvtx::attach_module(get);
}
extern "C" EXPORT int InitializeInjectionNvtxExtension(tprof::nvtx::Extension* extension) {
  return tprof::nvtx::attach_extension(extension);
}
