// The rows of the GPU side: deviceProperties, and the metadata events that name devices and streams.
#include <algorithm>
#include <set>

#include "kineto/names.h"
#include "kineto/write/gpu.h"

namespace tprof::kineto {

// Waits have rows of their own: their times are those of the host and cross the activities of the stream.
i64 sync_row(u32 stream) { return stream == kNone ? kSyncRows - 1 : kSyncRows + i64(stream); }

Json device_properties(const Model& model) {
  u32 end = model.devices.empty() ? 0 : model.devices.rbegin()->first + 1;
  for (const GpuEvent& e : model.gpu)
    if (e.device != kNone) end = std::max(end, e.device + 1);
  for (const MemoryEvent& e : model.memory)
    if (e.device_type == kCudaDeviceType) end = std::max(end, u32(e.device_index + 1));
  Json out = Json::array();
  for (u32 id = 0; id < end; id++) {
    auto it = model.devices.find(id);
    if (it == model.devices.end()) {
      out.push_back({{"id", id}, {"name", "unknown"}});
      continue;
    }
    const DeviceRecord& d = it->second;
    out.push_back({{"id", id},
                   {"name", d.name},
                   {"totalGlobalMem", d.total_memory},
                   {"computeMajor", d.compute_major},
                   {"computeMinor", d.compute_minor},
                   {"maxThreadsPerBlock", d.max_threads_per_block},
                   {"maxThreadsPerMultiprocessor", d.max_threads_per_multiprocessor},
                   {"regsPerBlock", d.registers_per_block},
                   {"warpSize", d.warp_size},
                   {"sharedMemPerBlock", d.shared_per_block},
                   {"numSms", d.multiprocessors},
                   {"regsPerMultiprocessor", d.registers_per_multiprocessor},
                   {"sharedMemPerBlockOptin", d.shared_per_block_optin},
                   {"sharedMemPerMultiprocessor", d.shared_per_multiprocessor}});
  }
  return out;
}

void GpuWriter::put_metadata() {
  std::set<u32> devices;
  std::set<std::pair<u32, i64>> rows;  // (device, tid)
  bool overhead = false;
  for (const auto& [id, device] : model_.devices) devices.insert(id);
  for (const GpuEvent& e : model_.gpu) {
    if (e.kind() == Kind::overhead) {
      overhead = true;
      continue;
    }
    devices.insert(e.device);
    rows.insert({e.device, e.kind() == Kind::sync ? sync_row(e.stream) : i64(e.stream)});
  }
  i64 ts = model_.begin_ns;
  for (u32 id : devices) {
    std::string pid = std::to_string(id);
    lines_.put_meta("process_name", pid, 0, {{"name", model_.process_name}}, ts);
    lines_.put_meta("process_labels", pid, 0, {{"labels", "GPU " + pid}}, ts);
    lines_.put_meta("process_sort_index", pid, 0, {{"sort_index", kGpuSortIndex + id}}, ts);
  }
  for (const auto& [device, row] : rows) {
    std::string pid = std::to_string(device);
    bool sync = row >= kSyncRows - 1;
    i64 stream = sync ? row - kSyncRows : row;
    std::string name = stream < 0 ? "context (sync)" : "stream " + std::to_string(stream) + (sync ? " (sync)" : " ");
    lines_.put_meta("thread_name", pid, row, {{"name", name}}, ts);
    lines_.put_meta("thread_sort_index", pid, row, {{"sort_index", stream}}, ts);
  }
  if (!overhead) return;
  lines_.put_meta("process_name", "-1", 0, {{"name", "Overhead"}}, ts);
  lines_.put_meta("process_sort_index", "-1", 0, {{"sort_index", kOverheadSortIndex}}, ts);
}

}  // namespace tprof::kineto
