// Kernels: registration by nvcc's generated code, and the ways to launch them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace sim {
namespace {

// Registration runs in static constructors, where a driver must not be started: kept until the first use.
struct Registered {
  const void* host;
  const char* name;
};
std::vector<Registered>& registered() {
  static auto* list = new std::vector<Registered>;
  return *list;
}

struct Symbol {
  const void* host;
  size_t bytes;
  void* device;
};
std::vector<Symbol>& symbols() {
  static auto* list = new std::vector<Symbol>;
  return *list;
}

struct Configuration {
  Dim grid, block;
  size_t shared;
  Handle stream;
};
thread_local std::vector<Configuration> configurations;

Kernel* kernel_of(const void* function) {
  if (Kernel* kernel = driver()->find_kernel(function)) return kernel;
  for (const Registered& one : registered())
    if (one.host == function) return driver()->add_kernel(function, one.name);
  return nullptr;
}

int launch(const void* function, Dim grid, Dim block, Dim cluster, void** arguments, size_t shared, Handle stream) {
  Launch launch;
  launch.kernel = kernel_of(function);
  launch.grid = grid;
  launch.block = block;
  launch.cluster = cluster;
  launch.arguments = arguments;
  launch.shared_bytes = shared;
  launch.stream = stream_of(stream);
  return driver()->launch(launch);
}

}  // namespace

// A device variable has memory of its own, made at its first use.
void* device_symbol(const void* host, size_t* bytes) {
  for (Symbol& symbol : symbols()) {
    if (symbol.host != host) continue;
    if (symbol.device == nullptr)
      driver()->allocate(&symbol.device, symbol.bytes, MemoryKind::device, nullptr, nullptr);
    *bytes = symbol.bytes;
    return symbol.device;
  }
  return nullptr;
}

EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* handle[1];
  return handle;
}
EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
EXPORT void __cudaUnregisterFatBinary(void**) {}
EXPORT char __cudaInitModule(void**) { return 1; }
EXPORT void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*, void*, void*,
                                   int*) {
  registered().push_back({host, name});
}
EXPORT void __cudaRegisterVar(void**, char* host, char*, const char*, int, size_t bytes, int, int) {
  symbols().push_back({host, bytes, nullptr});
}
EXPORT void __cudaRegisterManagedVar(void**, void** host, char*, const char*, int, size_t bytes, int, int) {
  symbols().push_back({host, bytes, nullptr});
}
EXPORT u32 __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, Handle stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
EXPORT int __cudaPopCallConfiguration(Dim* grid, Dim* block, size_t* shared, Handle* stream) {
  if (configurations.empty()) return kErrorMissingConfiguration;
  Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  return kSuccess;
}

namespace body {

int cudaLaunchKernel(const void* function, Dim grid, Dim block, void** arguments, size_t shared, Handle stream) {
  return launch(function, grid, block, Dim(), arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void* function, Dim grid, Dim block, void** arguments, size_t shared,
                                Handle stream) {
  return launch(function, grid, block, Dim(), arguments, shared, stream);
}

int cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  Dim cluster;
  for (u32 i = 0; i < config->attribute_count; i++) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == 4) cluster = {attribute.cluster[0], attribute.cluster[1], attribute.cluster[2]};
  }
  return launch(function, config->grid, config->block, cluster, arguments, config->shared_bytes, config->stream);
}

#if SIM_MAJOR >= 12
int cudaGetKernel(Handle* kernel, const void* function) {
  *kernel = kernel_of(function);
  return *kernel != nullptr ? kSuccess : kErrorInvalidDeviceFunction;
}

int __cudaGetKernel(Handle* kernel, const void* function) { return cudaGetKernel(kernel, function); }

int __cudaLaunchKernel(Handle kernel, Dim grid, Dim block, void** arguments, size_t shared, Handle stream) {
  return launch(kernel, grid, block, Dim(), arguments, shared, stream);
}

int cudaFuncGetName(const char** name, const void* function) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return kErrorInvalidDeviceFunction;
  *name = kernel->name.c_str();
  return kSuccess;
}
#endif

int cudaGetFuncBySymbol(Handle* function, const void* symbol) {
  *function = kernel_of(symbol);
  return *function != nullptr ? kSuccess : kErrorInvalidDeviceFunction;
}

int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return kErrorInvalidDeviceFunction;
  driver()->load(kernel);
  memset(attributes, 0, sizeof *attributes);
  attributes->shared_bytes = kernel->shared_bytes;
  attributes->local_bytes = kernel->local_bytes;
  attributes->max_threads = 1024;
  attributes->registers = int(kernel->registers);
  attributes->ptx_version = attributes->binary_version = 90;
  attributes->max_dynamic_shared_bytes = 49152 - int(kernel->shared_bytes);
  return kSuccess;
}

int cudaFuncSetAttribute(const void* function, int, int) {
  return kernel_of(function) != nullptr ? kSuccess : kErrorInvalidDeviceFunction;
}

int cudaFuncSetCacheConfig(const void* function, int) { return cudaFuncSetAttribute(function, 0, 0); }

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return kErrorInvalidDeviceFunction;
  if (threads <= 0 || threads > 1024) return kErrorInvalidValue;
  driver()->load(kernel);
  u32 warps = (u32(threads) + 31) / 32;
  u32 by_warps = std::min(64 / warps, 32u);
  u32 registers = (kernel->registers * 32 + 255) / 256 * 256;
  u32 by_registers = 65536 / 4 / registers * 4 / warps;
  size_t block_shared = (kernel->shared_bytes + shared + 1024 + 127) / 128 * 128;
  u32 by_shared = u32(233472 / block_shared);
  *blocks = int(std::min({by_warps, by_registers, by_shared}));
  return kSuccess;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                           size_t shared, u32) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

int cudaLaunchHostFunc(Handle stream, HostFunction function, void* data) {
  return driver()->host_function(stream_of(stream), function, data);
}

int cudaStreamAddCallback(Handle stream, void (*callback)(Handle, int, void*), void* data, u32) {
  if (stream_of(stream) == nullptr) return kErrorInvalidResourceHandle;
  callback(stream, kSuccess, data);
  return kSuccess;
}

}  // namespace body
}  // namespace sim
