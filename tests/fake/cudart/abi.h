// The public ABI of the CUDA runtime, as far as the simulated one has it: own declarations, for the three majors.
// cudart/check.cpp compares them with NVIDIA's headers where those are present.
#pragma once
#include "driver/driver.h"

#ifndef SIM_MAJOR
#error "SIM_MAJOR: the CUDA major that this libcudart belongs to"
#endif

namespace sim {

using Handle = void*;  // cudaStream_t, cudaEvent_t, cudaGraph_t, ...: told apart by where they are used

struct Location {
  int type, id;  // 1: device
};

struct IpcHandle {  // of memory or of an event
  char bytes[64];
};

struct Extent {
  size_t width, height, depth;
};

struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};

struct Position {
  size_t x, y, z;
};

struct Copy3d {
  Handle from_array;
  Position from_position;
  PitchedPointer from;
  Handle to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  int kind;
};

struct LaunchAttribute {
  int id;  // 4: cluster dimension
  char pad[4];
  union {
    u32 cluster[3];
    char bytes[64];
  };
};

struct LaunchConfig {
  Dim grid, block;
  size_t shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  u32 attribute_count;
};

struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared_bytes, carveout;
#if SIM_MAJOR >= 12
  int cluster_required, cluster_width, cluster_height, cluster_depth, cluster_policy, nonportable_clusters;
  int reserved[16];
#endif
};

struct PointerAttributes {
  int type, device;  // type 0: unregistered, 1: host, 2: device, 3: managed
  void *device_pointer, *host_pointer;
#if SIM_MAJOR >= 13
  long reserved[8];
#endif
};

struct KernelNode {
  void* function;
  Dim grid, block;
  u32 shared_bytes;
  void **arguments, **extra;
};

struct PoolProperties {
  int allocation_type, handle_types;
  Location location;
  void* security;
  size_t max_bytes;
  u16 usage;
  u8 reserved[54];
};

struct UpdateResult {
  int result;
  Handle error_node, error_from;
};

// cudaDeviceProp. The order is that of CUDA 11 to 13; what 13 left out stands behind the condition.
struct DeviceProperties {
  char name[256];
  u8 uuid[16];
  char luid[8];
  u32 luid_node_mask;
  size_t total_memory, shared_per_block;
  int registers_per_block, warp_size;
  size_t pitch_limit;
  int threads_per_block, block_limits[3], grid_limits[3];
#if SIM_MAJOR < 13
  int clock_khz;
#endif
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
#if SIM_MAJOR < 13
  int overlap;
#endif
  int multiprocessors;
#if SIM_MAJOR < 13
  int kernel_timeout;
#endif
  int integrated, can_map_host_memory;
#if SIM_MAJOR < 13
  int compute_mode;
#endif
  int texture_1d, texture_1d_mipmap;
#if SIM_MAJOR < 13
  int texture_1d_linear;
#endif
  int texture_limits[23], surface_limits[14];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing;
#if SIM_MAJOR < 13
  int memory_clock_khz;
#endif
  int memory_bus_bits, l2_bytes, l2_persisting_bytes, threads_per_multiprocessor, stream_priorities;
  int global_l1_cache, local_l1_cache;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_board_group, native_atomics;
#if SIM_MAJOR < 13
  int double_ratio;
#endif
  int pageable_access, concurrent_managed, preemption, registered_host_pointers, cooperative_launch;
#if SIM_MAJOR < 13
  int cooperative_multi_device;
#endif
  size_t shared_per_block_optin;
  int pageable_host_tables, direct_managed, blocks_per_multiprocessor, access_window;
  size_t reserved_shared_per_block;
#if SIM_MAJOR >= 12
  int tail[76];
#endif
};

}  // namespace sim
