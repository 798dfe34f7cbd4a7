// Our own declarations of the interface between NVTX (the headers of NVTX 3, and libnvToolsExt before them) and a tool.
// tests/unit/nvtx_abi.cpp compares them with NVIDIA's headers where those are found.
//
// Each module of a program that uses NVTX has a copy of its loader. At the module's first call the loader opens the
// library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2(get_export_table). The tool gets the
// table of callbacks and through it the slots of each group: slot `id` points to the function pointer that the module
// will call.
#pragma once
#include "base/types.h"

namespace tprof::nvtx {

using Function = void (*)();
using Slots = Function**;

struct CallbackTable {
  size_t bytes;
  int (*slots_of)(u32 group, Slots* out, u32* count);  // 0: no such group
};
constexpr u32 kCallbackTable = 1;
using GetExportTable = const void* (*)(u32 table);

enum Group : u32 { core = 1, core2 = 5 };

// nvtxEventAttributes_t.
struct Attributes {
  u16 version;
  u16 bytes;
  u32 category;
  i32 color_type;  // 1: ARGB
  u32 color;
  i32 payload_type;  // PayloadType
  i32 reserved;
  union {
    u64 unsigned64;
    i64 signed64;
    double float64;
    u32 unsigned32;
    i32 signed32;
    float float32;
  } payload;
  i32 message_type;  // MessageType
  const void* message;
};
static_assert(sizeof(Attributes) == 48);

enum MessageType : i32 { kMessageAscii = 1, kMessageWide = 2, kMessageRegistered = 3 };
enum PayloadType : i32 {
  kPayloadUnsigned64 = 1,
  kPayloadSigned64 = 2,
  kPayloadFloat64 = 3,
  kPayloadUnsigned32 = 4,
  kPayloadSigned32 = 5,
  kPayloadFloat32 = 6
};

// Extensions of NVTX pass their slots to InitializeInjectionNvtxExtension; 0 in a slot: not resolved yet.
struct ExtensionSegment {
  size_t id;
  size_t slot_count;
  intptr_t* slots;
};
struct Extension {
  u16 nvtx_version;
  u16 bytes;
  u16 module;
  u16 compatible;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*export_function)(u32 id);
  const void* info;
};
constexpr u16 kPayloadExtension = 2;

}  // namespace tprof::nvtx
