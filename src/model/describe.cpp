// Names GPU activities other than kernels, sorts calls into families, and computes how well activities used their
// device: occupancy of kernels, bandwidth of copies and sets.
#include <unordered_map>

#include "model/gpu/names.h"
#include "model/gpu/occupancy.h"
#include "model/passes.h"

namespace tprof {

void describe_gpu_work(Model& model) {
  for (CallEvent& call : model.calls)  // CUPTI reports only the name of a call
    if (call.seen == kSeenByCupti) call.family = u8(call_family(model.names[call.name]));
  std::unordered_map<u64, u32> known;  // kind << 32 | id -> name
  for (GpuEvent& e : model.gpu) {
    if (e.kind() == Kind::kernel) {
      auto device = model.devices.find(e.device);
      Occupancy o = occupancy_of(e.as<KernelRecord>(), device == model.devices.end() ? nullptr : &device->second);
      if (o.blocks_per_sm > 0) {
        e.blocks_per_sm = static_cast<float>(o.blocks_per_sm);
        e.warps_per_sm = static_cast<float>(o.warps_per_sm);
      }
      if (o.percent >= 0) e.occupancy = static_cast<float>(o.percent);
      continue;
    }
    u32 id = e.kind() == Kind::gpu_event ? 0 : e.record->id;  // all CUDA events share one name
    auto [it, added] = known.emplace(u64(e.record->kind) << 32 | id, u32(model.names.size()));
    if (added) model.names.push_back(activity_name(*e.record));
    e.name = it->second;
    u64 bytes = bytes_of(e);
    if (bytes && e.dur_ns > 0) e.bandwidth = static_cast<float>(double(bytes) / double(e.dur_ns));
  }
}

}  // namespace tprof
