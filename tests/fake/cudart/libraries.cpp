// Kernels of code that is loaded when the program runs. The code is opaque: it has every kernel that is asked for by
// name, and no variable.
#include "runtime.h"

#if SIM_MAJOR >= 13
namespace sim::body {

int cudaLibraryLoadData(Handle* library, const void* code, int*, void**, u32, int*, void**, u32) {
  if (code == nullptr) return kErrorInvalidValue;
  *library = new const void*(code);
  return kSuccess;
}

int cudaLibraryLoadFromFile(Handle* library, const char* file, int*, void**, u32, int*, void**, u32) {
  return cudaLibraryLoadData(library, file, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

int cudaLibraryUnload(Handle library) { return library != nullptr ? kSuccess : kErrorInvalidResourceHandle; }

int cudaLibraryGetKernel(Handle* kernel, Handle library, const char* name) {
  if (library == nullptr || name == nullptr) return kErrorInvalidValue;
  *kernel = driver()->add_kernel(nullptr, name);
  return kSuccess;
}

int cudaLibraryGetKernelCount(u32* count, Handle) {
  *count = 0;
  return kSuccess;
}

int cudaLibraryGetGlobal(void**, size_t*, Handle, const char*) { return kErrorSymbolNotFound; }

int cudaLibraryGetManaged(void**, size_t*, Handle, const char*) { return kErrorSymbolNotFound; }

int cudaLibraryGetUnifiedFunction(void**, Handle, const char*) { return kErrorSymbolNotFound; }

int cudaKernelSetAttributeForDevice(Handle kernel, int, int, int) {
  return kernel != nullptr ? kSuccess : kErrorInvalidResourceHandle;
}

}  // namespace sim::body
#endif
