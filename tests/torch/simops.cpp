// What gpu_ops.py calls through ctypes: kernels, copies and sets on a CUDA runtime, as the operators of a CUDA torch
// would give them, and reports of a caching allocator to c10. Knows neither torch's headers nor CUDA's, and is linked
// with no runtime: the program loads one before. sim_kernel.h tells the simulated one what each kernel needs.
#include <cstddef>
#include <cstdint>

#include "fake/sim_kernel.h"

extern "C" {
struct Dim {
  unsigned x, y, z;
};
int cudaMalloc(void** address, size_t bytes);
int cudaFree(void* address);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaLaunchKernel(const void* function, Dim grid, Dim block, void** arguments, size_t shared, void* stream);
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream);
int cudaMemsetAsync(void* at, int value, size_t bytes, void* stream);
int cudaDeviceSynchronize();
void** __cudaRegisterFatBinary(void* code);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int threads, void*, void*,
                            void*, void*, int*);
}

namespace c10 {
struct Device {
  signed char type, index;
};
// Absent where nobody listens: Python keeps libc10 to itself.
__attribute__((weak)) void reportMemoryUsageToProfiler(void* address, int64_t bytes, size_t allocated, size_t reserved,
                                                       Device device);
}  // namespace c10

// KERNEL(name, registers per thread, static shared memory in bytes, duration in ns)
#define KERNELS(KERNEL)                           \
  KERNEL(simops_gemm_h884, 64, 16384, 400000)     \
  KERNEL(simops_gemm_backward, 96, 32768, 300000) \
  KERNEL(simops_elementwise, 16, 0, 100000)       \
  KERNEL(simops_reduce, 32, 1024, 50000)

#define KERNEL(name, registers, shared, ns) \
  extern "C" void name() {}                 \
  SIM_KERNEL_ATTRIBUTES(name, registers, shared, 0, 0, ns, {});
KERNELS(KERNEL)
#undef KERNEL

namespace {

struct Kernel {
  const char* name;
  void (*host)();
};
const Kernel g_kernels[] = {
#define KERNEL(name, registers, shared, ns) {#name, name},
    KERNELS(KERNEL)
#undef KERNEL
};

constexpr unsigned kNonBlocking = 1;
constexpr int kStreams = 2;
void* g_streams[kStreams];  // the default stream, and one beside it

struct Code {
  int magic, version;
  const void* data;
  void* unused;
} g_code = {0x466243b1, 1, "", nullptr};

// As nvcc's own start-up code does it.
__attribute__((constructor)) void register_kernels() {
  void** handle = __cudaRegisterFatBinary(&g_code);
  for (const Kernel& kernel : g_kernels)
    __cudaRegisterFunction(handle, reinterpret_cast<const char*>(kernel.host), const_cast<char*>(kernel.name),
                           kernel.name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(handle);
}

void* stream_of(int index) {
  if (index && !g_streams[index]) cudaStreamCreateWithFlags(&g_streams[index], kNonBlocking);
  return g_streams[index];
}

}  // namespace

extern "C" {

void* simops_malloc(size_t bytes) {
  void* address = nullptr;
  return cudaMalloc(&address, bytes) ? nullptr : address;
}

int simops_free(void* address) { return cudaFree(address); }

int simops_launch(int kernel, unsigned grid, unsigned block, size_t shared, int stream) {
  void* arguments[] = {nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(g_kernels[kernel].host), {grid, 1, 1}, {block, 1, 1}, arguments,
                          shared, stream_of(stream));
}

int simops_copy(void* to, const void* from, size_t bytes, int kind, int stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, stream_of(stream));
}

int simops_set(void* at, size_t bytes, int stream) { return cudaMemsetAsync(at, 0, bytes, stream_of(stream)); }

int simops_synchronize() { return cudaDeviceSynchronize(); }

// As CUDACachingAllocator does it, for device 0.
void simops_report(void* address, int64_t bytes, size_t allocated, size_t reserved) {
  if (c10::reportMemoryUsageToProfiler)
    c10::reportMemoryUsageToProfiler(address, bytes, allocated, reserved, c10::Device{1, 0});
}

}  // extern "C"
