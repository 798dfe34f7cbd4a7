// Modules, kernels and their launches, as the driver API has them.
#include <algorithm>
#include <cstring>

#include "driver_api.h"

namespace sim::driver_body {
namespace {

constexpr int kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32, kClusters = 32;
constexpr size_t kTensorMapBytes = 128;

Driver& driver() { return *simcuda_driver(); }

}  // namespace

// A module's image is opaque; it has every kernel that is asked for by name.
int cuModuleLoadData(Module** module, const void* image) {
  if (image == nullptr) return kErrorInvalidValue;
  *module = new Module;
  (*module)->image = image;
  return kSuccess;
}

int cuModuleLoad(Module** module, const char* path) { return cuModuleLoadData(module, path); }

int cuModuleLoadDataEx(Module** module, const void* image, u32, int*, void**) {
  return cuModuleLoadData(module, image);
}

int cuModuleUnload(Module* module) { return module != nullptr ? kSuccess : kErrorInvalidResourceHandle; }

int cuModuleGetFunction(Kernel** kernel, Module* module, const char* name) {
  if (module == nullptr) return kErrorInvalidResourceHandle;
  for (Kernel* made : module->kernels)
    if (made->name == name) return *kernel = made, kSuccess;
  *kernel = driver().add_kernel(nullptr, name);
  (*kernel)->host = module->image;  // in whose library the body is looked for
  module->kernels.push_back(*kernel);
  return kSuccess;
}

int cuModuleGetGlobal_v2(u64*, size_t*, Module*, const char*) { return kErrorSymbolNotFound; }

int cuFuncGetAttribute(int* value, int attribute, Kernel* kernel) {
  if (kernel == nullptr) return kErrorInvalidResourceHandle;
  driver().load(kernel);
  switch (attribute) {
    case 0: *value = 1024; break;  // threads per block
    case 1: *value = int(kernel->shared_bytes); break;
    case 3: *value = int(kernel->local_bytes); break;
    case 4: *value = int(kernel->registers); break;
    case 5:
    case 6: *value = 90; break;  // PTX and binary version
    default: *value = 0;
  }
  return kSuccess;
}

int cuFuncSetAttribute(Kernel* kernel, int, int) { return kernel != nullptr ? kSuccess : kErrorInvalidResourceHandle; }

int cuFuncSetCacheConfig(Kernel* kernel, int) { return cuFuncSetAttribute(kernel, 0, 0); }

int cuFuncGetName(const char** name, Kernel* kernel) {
  if (kernel == nullptr) return kErrorInvalidResourceHandle;
  *name = kernel->name.c_str();
  return kSuccess;
}

// Arguments that come packed in `extra` reach no body: a buffer does not say where one ends.
int cuLaunchKernel(Kernel* kernel, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void* stream,
                   void** arguments, void**) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {gx, gy, gz};
  launch.block = {bx, by, bz};
  launch.shared_bytes = shared;
  launch.arguments = arguments;
  launch.stream = api_stream(stream);
  return driver().launch(launch);
}

int cuLaunchKernelEx(const DriverLaunchConfig* config, Kernel* kernel, void** arguments, void**) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {config->grid[0], config->grid[1], config->grid[2]};
  launch.block = {config->block[0], config->block[1], config->block[2]};
  for (u32 i = 0; i < config->attribute_count; i++) {
    const auto& attribute = config->attributes[i];
    if (attribute.id == 4) launch.cluster = {attribute.cluster[0], attribute.cluster[1], attribute.cluster[2]};
  }
  launch.shared_bytes = config->shared_bytes;
  launch.arguments = arguments;
  launch.stream = api_stream(config->stream);
  return driver().launch(launch);
}

int cuLaunchCooperativeKernel(Kernel* kernel, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void* stream,
                              void** arguments) {
  return cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, nullptr);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* kernel, int threads, size_t) {
  if (kernel == nullptr) return kErrorInvalidResourceHandle;
  *blocks = std::clamp(kThreadsPerMultiprocessor / std::max(threads, 1), 1, kBlocksPerMultiprocessor);
  return kSuccess;
}

int cuOccupancyMaxActiveClusters(int* clusters, Kernel*, const DriverLaunchConfig*) {
  *clusters = kClusters;
  return kSuccess;
}

// Nothing here reads such a map.
int cuTensorMapEncodeTiled(void* map, int, u32, void*, const u64*, const u64*, const u32*, const u32*, int, int, int,
                           int) {
  memset(map, 0, kTensorMapBytes);
  return kSuccess;
}

int cuLinkCreate_v2(u32, int*, void**, void**) { return kErrorNotSupported; }

int cuLinkAddData_v2(void*, int, void*, size_t, const char*, u32, int*, void**) { return kErrorNotSupported; }

int cuLinkComplete(void*, void**, size_t*) { return kErrorNotSupported; }

}  // namespace sim::driver_body
