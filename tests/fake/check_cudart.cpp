// Compared at build time with the headers of CUDA 13, where they are present: the types of the simulated runtime, and
// the shape (number and sizes of parameters) of its functions and the driver's.
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#define SIM_MAJOR 13
#include "cudart/runtime.h"
#include "driver/attributes.h"
#include "driver/driver_api.h"

extern "C" int cuCtxCreate_v2(void**, unsigned, int);  // no longer in CUDA 13's headers, still in the library

static_assert(CUDART_VERSION / 1000 == SIM_MAJOR);

namespace sim {

static_assert(sizeof(DeviceProperties) == sizeof(cudaDeviceProp));
static_assert(offsetof(DeviceProperties, total_memory) == offsetof(cudaDeviceProp, totalGlobalMem));
static_assert(offsetof(DeviceProperties, major) == offsetof(cudaDeviceProp, major));
static_assert(offsetof(DeviceProperties, multiprocessors) == offsetof(cudaDeviceProp, multiProcessorCount));
static_assert(offsetof(DeviceProperties, surface_alignment) == offsetof(cudaDeviceProp, surfaceAlignment));
static_assert(offsetof(DeviceProperties, memory_bus_bits) == offsetof(cudaDeviceProp, memoryBusWidth));
static_assert(offsetof(DeviceProperties, shared_per_multiprocessor) ==
              offsetof(cudaDeviceProp, sharedMemPerMultiprocessor));
static_assert(offsetof(DeviceProperties, shared_per_block_optin) == offsetof(cudaDeviceProp, sharedMemPerBlockOptin));
static_assert(offsetof(DeviceProperties, reserved_shared_per_block) ==
              offsetof(cudaDeviceProp, reservedSharedMemPerBlock));
static_assert(sizeof(FunctionAttributes) == sizeof(cudaFuncAttributes));
static_assert(offsetof(FunctionAttributes, registers) == offsetof(cudaFuncAttributes, numRegs));
static_assert(sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
static_assert(sizeof(LaunchConfig) == sizeof(cudaLaunchConfig_t));
static_assert(sizeof(LaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(offsetof(LaunchAttribute, cluster) == offsetof(cudaLaunchAttribute, val));
static_assert(int(cudaLaunchAttributeClusterDimension) == 4);
static_assert(sizeof(KernelNode) == sizeof(cudaKernelNodeParams));
static_assert(offsetof(KernelNode, arguments) == offsetof(cudaKernelNodeParams, kernelParams));
static_assert(sizeof(Copy3d) == sizeof(cudaMemcpy3DParms));
static_assert(offsetof(Copy3d, to) == offsetof(cudaMemcpy3DParms, dstPtr));
static_assert(sizeof(PoolProperties) == sizeof(cudaMemPoolProps));
static_assert(sizeof(DriverLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(AllocationProperties, location_id) == offsetof(CUmemAllocationProp, location) + 4);
static_assert(int(Attribute::shared_per_multiprocessor) == cudaDevAttrMaxSharedMemoryPerMultiprocessor);
static_assert(int(Attribute::reserved_shared_per_block) == cudaDevAttrReservedSharedMemoryPerBlock);
static_assert(int(Attribute::blocks_per_multiprocessor) == cudaDevAttrMaxBlocksPerMultiprocessor);
static_assert(int(Attribute::shared_per_block_optin) == cudaDevAttrMaxSharedMemoryPerBlockOptin);
static_assert(int(Attribute::memory_pools) == cudaDevAttrMemoryPoolsSupported);
static_assert(kErrorInsufficientDriver == int(cudaErrorInsufficientDriver));
static_assert(kErrorInvalidDeviceFunction == int(cudaErrorInvalidDeviceFunction));
static_assert(kErrorHostMemoryNotRegistered == int(cudaErrorHostMemoryNotRegistered));
static_assert(kErrorStreamCaptureMerge == int(cudaErrorStreamCaptureMerge));

template <typename Ours, typename Theirs>
constexpr bool alike = false;
template <typename R, typename... A, typename S, typename... B>
constexpr bool alike<R(A...), S(B...)> = [] {
  if constexpr (sizeof...(A) == sizeof...(B))
    return ((sizeof(A) == sizeof(B)) && ... && (sizeof(R) == sizeof(S)));
  else
    return false;
}();

// nvcc's own, declared in no public header.
int __cudaGetKernel(Handle*, const void*);
int __cudaLaunchKernel(Handle, Dim, Dim, void**, size_t, Handle);

#define RT(name, ...) static_assert(alike<decltype(body::name), decltype(name)>);
#define RT_TWIN(name, ...) static_assert(alike<decltype(body::name), decltype(name)>);
#include "cudart/runtime_api.def"
#undef RT
#undef RT_TWIN

#define DRV_PLAIN(name, ...)
#define DRV(name, ...) static_assert(alike<decltype(driver_body::name), decltype(::name)>);
#define DRV_TWIN(name, ...) DRV(name)
#include "driver/driver_api.def"

}  // namespace sim
