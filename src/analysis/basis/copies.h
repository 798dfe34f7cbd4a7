// How fast data moves: copies by kind, and by the host memory that they read or write.
#pragma once
#include "analysis/basis/windows.h"

namespace tprof {

constexpr i64 kMinCopyNs = 1000;  // assumed for a copy that was recorded with no duration (HTA)

// CUPTI's numbers, as CopyRecord has them.
enum class CopyKind : u8 {
  unknown = 0,
  to_device = 1,
  to_host = 2,
  within_device = 8,
  within_host = 9,
  between_devices = 10
};
enum class HostMemory : u8 { unknown = 0, pageable = 1, pinned = 2 };

struct Copies {
  u32 device;
  CopyKind kind;
  HostMemory memory;  // on the host's side; unknown if the host is not involved
  u64 count = 0, bytes = 0;
  i64 ns = 0, longest_ns = 0;
  double slowest_gbps = 0, fastest_gbps = 0;  // 10^9 bytes per second
  u32 longest = kNone;                        // index into Model::gpu

  double gbps() const { return ns > 0 ? double(bytes) / double(ns) : 0; }
};
// Copies that start in the windows, by device, kind and memory; most time first.
std::vector<Copies> copies(const Model& model, const Windows& windows);
const char* copy_kind_text(CopyKind kind);

CopyKind copy_kind_of(const GpuEvent& copy);
HostMemory host_memory_of(const GpuEvent& copy);

}  // namespace tprof
