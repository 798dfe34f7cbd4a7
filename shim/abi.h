// The few types of CUDA's and NCCL's public ABIs that the table of hooks passes by value or whose members it reads.
// Handles are void*, enumerations int. tests/unit/abi_test.cpp compares them with NVIDIA's headers.
#pragma once
#include "base/types.h"

namespace tprof {

struct Dim3 {
  u32 x, y, z;
};

struct Extent {
  size_t width, height, depth;
};

struct Position {
  size_t x, y, z;
};

struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};

struct ChannelFormat {
  int x, y, z, w;  // bits
  int kind;
};

// The last two parameters of a launch. The odd member keeps the compiler from taking them into registers on their way.
struct LaunchTail {
  size_t shared;
  union {
    void* stream;
    char left_in_memory[7];
  };
};

struct LaunchConfig {
  Dim3 grid, block;
  size_t dynamic_shared;
  void* stream;
  void* attributes;
  u32 attribute_count;
};

struct Copy3D {
  void* source_array;
  Position source_position;
  PitchedPointer source;
  void* target_array;
  Position target_position;
  PitchedPointer target;
  Extent extent;
  int kind;
};

struct Copy3DPeer {
  void* source_array;
  Position source_position;
  PitchedPointer source;
  int source_device;
  void* target_array;
  Position target_position;
  PitchedPointer target;
  int target_device;
  Extent extent;
};

// The first members of CUmemAllocationProp.
struct VirtualMemory {
  int type, handle_types;
  int location_type, location;
};

struct NcclId {
  char internal[128];
};

constexpr int kInsufficientDriver = 35;  // cudaErrorInsufficientDriver
constexpr int kNcclSystemError = 2;      // ncclSystemError
constexpr int kLocationDevice = 1;       // CU_MEM_LOCATION_TYPE_DEVICE
enum CopyKind : u32 { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kDefault = 4 };

}  // namespace tprof
