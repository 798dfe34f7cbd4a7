// Compared at build time with NVIDIA's headers, where they are present: the records of the simulated CUPTI, its kinds
// and results, and the numbers of the traced functions.
#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "cupti/records.h"
#include "cupti/results.h"

namespace sim::cupti {

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs))
#define SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(CUpti_Activity##theirs))
#define FIELD(ours, field, theirs, name)                                           \
  static_assert(offsetof(ours, field) == offsetof(CUpti_Activity##theirs, name) && \
                sizeof(ours::field) == sizeof(CUpti_Activity##theirs::name))

#if CUPTI_API_VERSION >= 130000
SIZE(KernelRecord, Kernel10);
FIELD(KernelRecord, registers, Kernel10, registersPerThread);
FIELD(KernelRecord, start, Kernel10, start);
FIELD(KernelRecord, end, Kernel10, end);
FIELD(KernelRecord, device, Kernel10, deviceId);
FIELD(KernelRecord, context, Kernel10, contextId);
FIELD(KernelRecord, stream, Kernel10, streamId);
FIELD(KernelRecord, static_shared, Kernel10, staticSharedMemory);
FIELD(KernelRecord, dynamic_shared, Kernel10, dynamicSharedMemory);
FIELD(KernelRecord, local_per_thread, Kernel10, localMemoryPerThread);
FIELD(KernelRecord, correlation, Kernel10, correlationId);
FIELD(KernelRecord, name, Kernel10, name);
FIELD(KernelRecord, shared_executed, Kernel10, sharedMemoryExecuted);
FIELD(KernelRecord, graph_node, Kernel10, graphNodeId);
FIELD(KernelRecord, graph, Kernel10, graphId);
FIELD(KernelRecord, max_active_clusters, Kernel10, maxActiveClusters);
FIELD(KernelRecord, device_launched, Kernel10, isDeviceLaunched);
static_assert(offsetof(KernelRecord, grid) == offsetof(CUpti_ActivityKernel10, gridX));
static_assert(offsetof(KernelRecord, block) == offsetof(CUpti_ActivityKernel10, blockX));
static_assert(offsetof(KernelRecord, cluster) == offsetof(CUpti_ActivityKernel10, clusterX));
SIZE(MemcpyRecord, Memcpy6);
FIELD(MemcpyRecord, copy_kind, Memcpy6, copyKind);
FIELD(MemcpyRecord, to_kind, Memcpy6, dstKind);
FIELD(MemcpyRecord, flags, Memcpy6, flags);
FIELD(MemcpyRecord, bytes, Memcpy6, bytes);
FIELD(MemcpyRecord, start, Memcpy6, start);
FIELD(MemcpyRecord, stream, Memcpy6, streamId);
FIELD(MemcpyRecord, correlation, Memcpy6, correlationId);
FIELD(MemcpyRecord, graph_node, Memcpy6, graphNodeId);
FIELD(MemcpyRecord, graph, Memcpy6, graphId);
FIELD(MemcpyRecord, count, Memcpy6, copyCount);
SIZE(Memcpy2Record, MemcpyPtoP4);
FIELD(Memcpy2Record, from_device, MemcpyPtoP4, srcDeviceId);
FIELD(Memcpy2Record, to_device, MemcpyPtoP4, dstDeviceId);
FIELD(Memcpy2Record, correlation, MemcpyPtoP4, correlationId);
FIELD(Memcpy2Record, graph, MemcpyPtoP4, graphId);
SIZE(MemsetRecord, Memset4);
FIELD(MemsetRecord, value, Memset4, value);
FIELD(MemsetRecord, bytes, Memset4, bytes);
FIELD(MemsetRecord, correlation, Memset4, correlationId);
FIELD(MemsetRecord, memory_kind, Memset4, memoryKind);
FIELD(MemsetRecord, graph_node, Memset4, graphNodeId);
FIELD(MemsetRecord, device_launched, Memset4, isDeviceLaunched);
SIZE(ApiRecord, API);
FIELD(ApiRecord, cbid, API, cbid);
FIELD(ApiRecord, thread, API, threadId);
FIELD(ApiRecord, correlation, API, correlationId);
FIELD(ApiRecord, result, API, returnValue);
SIZE(SyncRecord, Synchronization2);
FIELD(SyncRecord, correlation, Synchronization2, correlationId);
FIELD(SyncRecord, stream, Synchronization2, streamId);
FIELD(SyncRecord, event, Synchronization2, cudaEventId);
FIELD(SyncRecord, event_sync, Synchronization2, cudaEventSyncId);
FIELD(SyncRecord, result, Synchronization2, returnValue);
SIZE(CudaEventRecord, CudaEvent2);
FIELD(CudaEventRecord, event, CudaEvent2, eventId);
FIELD(CudaEventRecord, device, CudaEvent2, deviceId);
FIELD(CudaEventRecord, time, CudaEvent2, deviceTimestamp);
SIZE(OverheadRecord, Overhead3);
FIELD(OverheadRecord, overhead, Overhead3, overheadKind);
FIELD(OverheadRecord, object, Overhead3, objectId);
FIELD(OverheadRecord, start, Overhead3, start);
FIELD(OverheadRecord, correlation, Overhead3, correlationId);
FIELD(OverheadRecord, data, Overhead3, overheadData);
SIZE(MemoryRecord, Memory4);
FIELD(MemoryRecord, operation, Memory4, memoryOperationType);
FIELD(MemoryRecord, memory_kind, Memory4, memoryKind);
FIELD(MemoryRecord, address, Memory4, address);
FIELD(MemoryRecord, time, Memory4, timestamp);
FIELD(MemoryRecord, process, Memory4, processId);
FIELD(MemoryRecord, stream, Memory4, streamId);
FIELD(MemoryRecord, async, Memory4, isAsync);
FIELD(MemoryRecord, pool_used, Memory4, memoryPoolConfig.utilizedSize);
FIELD(MemoryRecord, source, Memory4, source);
SIZE(PoolRecord, MemoryPool3);
FIELD(PoolRecord, operation, MemoryPool3, memoryPoolOperationType);
FIELD(PoolRecord, address, MemoryPool3, address);
FIELD(PoolRecord, time, MemoryPool3, timestamp);
FIELD(PoolRecord, used, MemoryPool3, utilizedSize);
SIZE(GraphRecord, GraphTrace2);
FIELD(GraphRecord, start, GraphTrace2, start);
FIELD(GraphRecord, graph, GraphTrace2, graphId);
FIELD(GraphRecord, stream, GraphTrace2, streamId);
FIELD(GraphRecord, end_device, GraphTrace2, endDeviceId);
SIZE(DeviceRecord, Device5);
FIELD(DeviceRecord, memory_bytes, Device5, globalMemorySize);
FIELD(DeviceRecord, multiprocessors, Device5, numMultiprocessors);
FIELD(DeviceRecord, registers_per_block, Device5, maxRegistersPerBlock);
FIELD(DeviceRecord, threads_per_block, Device5, maxThreadsPerBlock);
FIELD(DeviceRecord, major, Device5, computeCapabilityMajor);
FIELD(DeviceRecord, id, Device5, id);
FIELD(DeviceRecord, name, Device5, name);
FIELD(DeviceRecord, numa_id, Device5, numaId);
SIZE(ContextRecord, Context3);
FIELD(ContextRecord, device, Context3, deviceId);
FIELD(ContextRecord, null_stream, Context3, nullStreamId);
FIELD(ContextRecord, multiprocessors, Context3, numMultiprocessors);
#endif
SIZE(StreamRecord, Stream);
FIELD(StreamRecord, stream, Stream, streamId);
FIELD(StreamRecord, flag, Stream, flag);
SIZE(ExternalRecord, ExternalCorrelation);
FIELD(ExternalRecord, external, ExternalCorrelation, externalId);
FIELD(ExternalRecord, correlation, ExternalCorrelation, correlationId);

SAME(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(kKernel, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(kDevice, CUPTI_ACTIVITY_KIND_DEVICE);
SAME(kContext, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(kName, CUPTI_ACTIVITY_KIND_NAME);
SAME(kMarker, CUPTI_ACTIVITY_KIND_MARKER);
SAME(kMarkerData, CUPTI_ACTIVITY_KIND_MARKER_DATA);
SAME(kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME(kMemcpy2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(kEvent, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
SAME(kStream, CUPTI_ACTIVITY_KIND_STREAM);
SAME(kSync, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME(kExternal, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
SAME(kMemory2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME(kPool, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME(kGraph, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

SAME(kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
SAME(kQueueEmpty, CUPTI_ERROR_QUEUE_EMPTY);
SAME(kInvalidKind, CUPTI_ERROR_INVALID_KIND);
SAME(kNotSupported, CUPTI_ERROR_NOT_SUPPORTED);
SAME(kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(kUnknown, CUPTI_ERROR_UNKNOWN);

#define SIM_MAJOR 0
#define RT(name, cbid, version, parameters, arguments) SAME(cbid, CUPTI_RUNTIME_TRACE_CBID_##name##_v##version);
#define RT_AS(cupti_name, name, cbid, version, parameters, arguments) \
  SAME(cbid, CUPTI_RUNTIME_TRACE_CBID_##cupti_name##_v##version);
#define RT_TWIN(name, cbid, version, suffix, twin, parameters, arguments) \
  SAME(cbid, CUPTI_RUNTIME_TRACE_CBID_##name##_v##version);
#include "cudart/runtime_api.def"
#undef RT
#undef RT_TWIN

#define DRV_PLAIN(name, parameters, arguments)
#define DRV(name, cbid, parameters, arguments) SAME(cbid, CUPTI_DRIVER_TRACE_CBID_##name);
#define DRV_TWIN(name, cbid, twin, parameters, arguments) \
  SAME(cbid, CUPTI_DRIVER_TRACE_CBID_##name);             \
  SAME(twin, CUPTI_DRIVER_TRACE_CBID_##name##_ptsz);
#include "driver/driver_api.def"

}  // namespace sim::cupti
