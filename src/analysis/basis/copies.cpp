#include "analysis/basis/copies.h"

#include <algorithm>
#include <tuple>

namespace tprof {

// CopyRecord: head.id = kind | source memory << 8 | destination memory << 16.
CopyKind copy_kind_of(const GpuEvent& copy) {
  u32 kind = copy.record->id & 0xff;
  switch (kind) {
    case 1:
    case 2:
    case 8:
    case 9:
    case 10: return static_cast<CopyKind>(kind);
    default: return CopyKind::unknown;
  }
}

HostMemory host_memory_of(const GpuEvent& copy) {
  CopyKind kind = copy_kind_of(copy);
  if (kind != CopyKind::to_device && kind != CopyKind::to_host) return HostMemory::unknown;
  u32 memory = copy.record->id >> (kind == CopyKind::to_device ? 8 : 16) & 0xff;
  return memory == 1 ? HostMemory::pageable : memory == 2 ? HostMemory::pinned : HostMemory::unknown;
}

const char* copy_kind_text(CopyKind kind) {
  switch (kind) {
    case CopyKind::to_device: return "host to device";
    case CopyKind::to_host: return "device to host";
    case CopyKind::within_device: return "within the device";
    case CopyKind::within_host: return "host to host";
    case CopyKind::between_devices: return "between devices";
    default: return "other";
  }
}

std::vector<Copies> copies(const Model& model, const Windows& windows) {
  std::map<std::tuple<u32, CopyKind, HostMemory>, Copies> rows;
  for (u32 i = 0; i < model.gpu.size(); i++) {
    const GpuEvent& event = model.gpu[i];
    if (event.kind() != Kind::copy || !windows.holds(event.begin_ns)) continue;
    CopyKind kind = copy_kind_of(event);
    HostMemory memory = host_memory_of(event);
    Copies& row = rows.try_emplace({event.device, kind, memory}, Copies{event.device, kind, memory}).first->second;
    u64 bytes = event.as<CopyInfo>().bytes;
    i64 ns = event.dur_ns > 0 ? event.dur_ns : kMinCopyNs;
    double gbps = double(bytes) / double(ns);
    row.slowest_gbps = row.count ? std::min(row.slowest_gbps, gbps) : gbps;
    row.fastest_gbps = std::max(row.fastest_gbps, gbps);
    row.count++;
    row.bytes += bytes;
    row.ns += ns;
    if (ns <= row.longest_ns) continue;
    row.longest_ns = ns;
    row.longest = i;
  }
  std::vector<Copies> out;
  for (auto& [key, row] : rows) out.push_back(row);
  std::stable_sort(out.begin(), out.end(), [](const Copies& a, const Copies& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace tprof
