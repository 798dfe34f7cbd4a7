// What NVTX calls in the library that NVTX_INJECTION64_PATH names: at the first NVTX call of each module, and of each extension
// of NVTX in it.
#include "collect/nvtx/inject.h"
#include "export.h"

extern "C" EXPORT int InitializeInjectionNvtx2(tprof::nvtx::GetExportTable get) {
  return tprof::nvtx::attach_module(get);
}
// Where NVTX 2 looks next.
extern "C" EXPORT int InitializeInjectionNvtx(tprof::nvtx::GetExportTable get) {
  return tprof::nvtx::attach_module(get);
}
extern "C" EXPORT int InitializeInjectionNvtxExtension(tprof::nvtx::Extension* extension) {
  return tprof::nvtx::attach_extension(extension);
}
