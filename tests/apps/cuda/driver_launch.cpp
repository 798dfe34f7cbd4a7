// As Triton and CuPy do it: no libcudart; libcuda.so.1 by dlopen, its functions by cuGetProcAddress, a kernel from a
// module's image, memory through virtual memory management.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim_kernel.h"

SIM_KERNEL_ATTRIBUTES(triple, 20, 0, 0, 2, 30000, {8, 4});
SIM_KERNEL_BODY(triple, arguments, grid, block, shared) {
  int* data = *static_cast<int**>(arguments[0]);
  (void)shared;
  for (uint32_t i = 0; i < grid.x * block.x && i < *static_cast<uint32_t*>(arguments[1]); i++) data[i] *= 3;
}

namespace {

using Function = int (*)(...);

void* libcuda;

Function find(const char* name) {
  static auto lookup =
      reinterpret_cast<int (*)(const char*, void**, int, uint64_t, int*)>(dlsym(libcuda, "cuGetProcAddress_v2"));
  void* function = nullptr;
  int status = 0;
  if (lookup(name, &function, 12000, 0, &status) != 0) {
    printf("no %s\n", name);
    exit(1);
  }
  return reinterpret_cast<Function>(function);
}

}  // namespace

#define CALL(name, ...)                                            \
  do {                                                             \
    int status_ = find(#name)(__VA_ARGS__);                        \
    if (status_ != 0) printf("%s: %d\n", #name, status_), exit(1); \
  } while (0)

int main() {
  libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (libcuda == nullptr) return puts("no driver"), 1;
  CALL(cuInit, 0u);
  int device, sms = 0;
  void *context, *module, *kernel, *stream, *chunk;
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDeviceGetAttribute, &sms, 16, device);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  static const char image[] = "an image of the simulated GPU";
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &kernel, module, "triple");
  CALL(cuStreamCreate, &stream, 1u);

  // A block that is reserved, backed, opened, and given back.
  int properties[32] = {1, 0, 1, 0};  // pinned memory of device 0
  size_t granule = 0;
  uint64_t address = 0;
  CALL(cuMemGetAllocationGranularity, &granule, properties, 0);
  CALL(cuMemAddressReserve, &address, granule, size_t(0), uint64_t(0), uint64_t(0));
  CALL(cuMemCreate, &chunk, granule, properties, uint64_t(0));
  CALL(cuMemMap, address, granule, size_t(0), chunk, uint64_t(0));
  int access[3] = {1, 0, 3};
  CALL(cuMemSetAccess, address, granule, access, size_t(1));

  uint32_t n = 1000;
  int values[1000];
  for (uint32_t i = 0; i < n; i++) values[i] = int(i);
  CALL(cuMemcpyHtoDAsync, address, values, size_t(n * 4), stream);
  void* arguments[] = {&address, &n};
  CALL(cuLaunchKernel, kernel, 8u, 1u, 1u, 128u, 1u, 1u, 0u, stream, arguments, nullptr);
  struct {
    uint32_t grid[3], block[3], shared;
    void* stream;
    void* attributes;
    uint32_t count;
  } config = {{8, 1, 1}, {128, 1, 1}, 2048, stream, nullptr, 0};
  CALL(cuLaunchKernelEx, &config, kernel, arguments, nullptr);
  CALL(cuMemcpyDtoHAsync, values, address, size_t(n * 4), stream);
  CALL(cuStreamSynchronize, stream);
  int wrong = 0;
  for (uint32_t i = 0; i < n; i++) wrong += values[i] != int(i) * 9;
  CALL(cuMemUnmap, address, granule);
  CALL(cuMemRelease, chunk);
  CALL(cuMemAddressFree, address, granule);
  CALL(cuModuleUnload, module);
  printf("driver_launch: %d SMs, %d wrong\n", sms, wrong);
  return wrong != 0;
}
