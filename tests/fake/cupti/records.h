// CUPTI's activity records, in the layout of CUDA 13.0. Records only ever grew at their end, so an older generation's
// is the front of these (generations.def has the lengths). check.cpp compares with NVIDIA's headers.
#pragma once
#include "types.h"

namespace sim::cupti {

enum Kind : u32 {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kName = 11,
  kMarker = 12,
  kMarkerData = 13,
  kOverhead = 17,
  kEnvironment = 20,
  kMemcpy2 = 22,
  kFunction = 26,
  kModule = 27,
  kDeviceAttribute = 28,
  kEvent = 36,
  kStream = 37,
  kSync = 38,
  kExternal = 39,
  kInternalLaunch = 48,
  kMemory2 = 49,
  kPool = 50,
  kGraph = 51,
  kKinds = 64,
};

struct KernelRecord {
  u32 kind;
  u8 cache_config, shared_config;
  u16 registers;
  u32 cache_requested, cache_executed;
  u64 start, end, completed;
  u32 device, context, stream;
  i32 grid[3], block[3], static_shared, dynamic_shared;
  u32 local_per_thread, local_total, correlation;
  i64 grid_id;
  const char* name;
  void* reserved;
  u64 queued, submitted;
  u8 launch_type, carveout_requested, carveout, pad;
  u32 shared_executed;
  u64 graph_node;
  u32 shared_limit_config, graph;
  void* access_policy;
  u32 channel, channel_type, cluster[3], cluster_policy;
  u64 local_total_v2;
  u32 max_cluster_size, max_active_clusters;
  u8 device_launched, pad3[7];
};

struct MemcpyRecord {
  u32 kind;
  u8 copy_kind, from_kind, to_kind, flags;
  u64 bytes, start, end;
  u32 device, context, stream, correlation, runtime_correlation, pad;
  void* reserved;
  u64 graph_node;
  u32 graph, channel, channel_type;
  u8 device_launched, pad2[3];
  u64 count;
};

struct Memcpy2Record {
  u32 kind;
  u8 copy_kind, from_kind, to_kind, flags;
  u64 bytes, start, end;
  u32 device, context, stream, from_device, from_context, to_device, to_context, correlation;
  void* reserved;
  u64 graph_node;
  u32 graph, channel, channel_type, pad;
};

struct MemsetRecord {
  u32 kind, value;
  u64 bytes, start, end;
  u32 device, context, stream, correlation;
  u16 flags, memory_kind;
  u32 pad;
  void* reserved;
  u64 graph_node;
  u32 graph, channel, channel_type;
  u8 device_launched, pad2[3];
};

struct ApiRecord {
  u32 kind, cbid;
  u64 start, end;
  u32 process, thread, correlation, result;
};

struct SyncRecord {
  u32 kind, type;
  u64 start, end;
  u32 correlation, context, stream, event;
  u64 event_sync;
  u32 result, pad;
};

struct CudaEventRecord {
  u32 kind, correlation, context, stream, event, pad, device, pad2;
  void* reserved;
  u64 time, event_sync;
};

struct OverheadRecord {
  u32 kind, overhead, object_kind, object[3];
  u64 start, end;
  u32 correlation, reserved;
  void* data;
};

struct MemoryRecord {
  u32 kind, operation, memory_kind, correlation;
  u64 address, bytes, time, pc;
  u32 process, device, context, stream;
  const char* name;
  u32 async, pad;
  u32 pool_type, pad2;
  u64 pool_address, pool_threshold, pool_size, pool_used;
  const char* source;
};

struct PoolRecord {
  u32 kind, operation, pool_type, correlation, process, device;
  u64 kept_bytes, address, size, threshold, time, used;
  u8 managed, pad[7];
};

struct GraphRecord {
  u32 kind, correlation;
  u64 start, end;
  u32 device, graph, context, stream;
  void* reserved;
  u32 end_device, end_context;
};

struct DeviceRecord {
  u32 kind, flags;
  u64 bandwidth, memory_bytes;
  u32 constant_bytes, l2_bytes, warp_size, clock_khz, copy_engines, multiprocessors, max_ipc, warps_per_multiprocessor;
  u32 blocks_per_multiprocessor, shared_per_multiprocessor, registers_per_multiprocessor, registers_per_block;
  u32 shared_per_block, threads_per_block, block[3], grid[3], major, minor, id, ecc;
  u8 uuid[16];
  const char* name;
  u8 visible, mig, reserved[6];
  u32 gpu_instance, compute_instance;
  u8 mig_uuid[16];
  u32 numa_node, numa_id;
};

struct ContextRecord {
  u32 kind, context, device;
  u16 api_kind, null_stream;
  u32 parent;
  u8 green, pad;
  u16 multiprocessors;
  u32 graphics_mode, pad2;
};

struct StreamRecord {
  u32 kind, context, stream, priority, flag, correlation;
};

struct ExternalRecord {
  u32 kind, external_kind;
  u64 external;
  u32 correlation, reserved;
};

}  // namespace sim::cupti
