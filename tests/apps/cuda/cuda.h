// The few declarations of the CUDA runtime that these programs need, and what nvcc would have generated for a kernel:
//   KERNEL(name, ATTRIBUTES...) { body over `arguments`, `grid`, `block` }    launch with LAUNCH(name, ...)
// The body runs on the simulated GPU (tests/fake); no nvcc is needed to build.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sim_kernel.h"

using Dim3 = SimDim;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;
using Pool = struct CUmemPoolHandle_st*;
enum { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };
enum { kNonBlocking = 1 };

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
int cudaLaunchKernel(const void*, Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream);
int cudaLaunchKernel_ptsz(const void*, Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream);
int cudaGetDeviceCount(int*);
int cudaSetDevice(int);
int cudaGetDevice(int*);
int cudaRuntimeGetVersion(int*);
int cudaDeviceSynchronize();
int cudaGetLastError();
const char* cudaGetErrorString(int);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMallocAsync(void**, size_t, Stream);
int cudaFreeAsync(void*, Stream);
int cudaMallocFromPoolAsync(void**, size_t, Pool, Stream);
int cudaDeviceGetDefaultMemPool(Pool*, int);
int cudaMallocHost(void**, size_t);
int cudaFreeHost(void*);
int cudaHostAlloc(void**, size_t, unsigned);
int cudaHostRegister(void*, size_t, unsigned);
int cudaHostUnregister(void*);
int cudaMallocManaged(void**, size_t, unsigned);
int cudaMallocPitch(void**, size_t*, size_t, size_t);
int cudaMemGetInfo(size_t*, size_t*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyAsync(void*, const void*, size_t, int, Stream);
int cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, int);
int cudaMemcpyPeer(void*, int, const void*, int, size_t);
int cudaMemset(void*, int, size_t);
int cudaMemsetAsync(void*, int, size_t, Stream);
int cudaMemset2D(void*, size_t, int, size_t, size_t);
int cudaStreamCreate(Stream*);
int cudaStreamCreateWithFlags(Stream*, unsigned);
int cudaStreamDestroy(Stream);
int cudaStreamSynchronize(Stream);
int cudaStreamWaitEvent(Stream, Event, unsigned);
int cudaEventCreate(Event*);
int cudaEventRecord(Event, Stream);
int cudaEventSynchronize(Event);
int cudaEventElapsedTime(float*, Event, Event);
int cudaStreamBeginCapture(Stream, int);
int cudaStreamEndCapture(Stream, Graph*);
int cudaGraphInstantiateWithFlags(GraphExec*, Graph, unsigned long long);
int cudaGraphLaunch(GraphExec, Stream);
int cudaGraphExecDestroy(GraphExec);
int cudaGraphDestroy(Graph);
int cudaProfilerStart();
int cudaProfilerStop();
}

struct KernelRegistration {
  KernelRegistration(const void* host, const char* name) {
    void** binary = __cudaRegisterFatBinary(nullptr);
    __cudaRegisterFunction(binary, static_cast<const char*>(host), nullptr, name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(binary);
  }
};

#define KERNEL(name, ...)                                                                             \
  SIM_KERNEL_ATTRIBUTES(name, __VA_ARGS__);                                                           \
  SIM_KERNEL_BODY(name, arguments, grid, block, shared);                                              \
  static const KernelRegistration register_##name(reinterpret_cast<const void*>(simk_##name), #name); \
  SIM_KERNEL_BODY(name, arguments, grid, block, shared)

// The value of the Nth argument.
template <typename T>
T argument(void** arguments, int n) {
  return *static_cast<T*>(arguments[n]);
}

#define CHECK(call)                                                                                \
  do {                                                                                             \
    int status_ = (call);                                                                          \
    if (status_ != 0) printf("%s: %d %s\n", #call, status_, cudaGetErrorString(status_)), exit(1); \
  } while (0)

template <typename... A>
int launch(const void* kernel, Dim3 grid, Dim3 block, size_t shared, Stream stream, A... values) {
  void* arguments[] = {&values..., nullptr};
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
#define LAUNCH(name, grid, block, shared, stream, ...) \
  CHECK(launch(reinterpret_cast<const void*>(simk_##name), grid, block, shared, stream, __VA_ARGS__))
