#include "analysis/tables/memory_peak.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/basis/innermost.h"
#include "analysis/time/variability.h"

namespace tprof {
namespace {

struct Block {
  u64 bytes;
  u32 event;  // index into Model::memory
};
using Blocks = std::unordered_map<u64, Block>;

bool counts(const MemoryEvent& e) { return !(e.flags & (kMemoryOutOfMemory | kMemoryShared)); }

class Device {
 public:
  Device(const Model& model, const std::vector<i32>& ops, std::vector<u32> events)
      : model_(model), ops_(ops), events_(std::move(events)) {}

  MemoryPeak run(const Windows& windows) {
    const MemoryEvent& first = model_.memory[events_[0]];
    out_.device_type = first.device_type;
    out_.device_index = first.device_index;
    for (u32 i : events_) {
      out_.totals_known |= model_.memory[i].total_allocated != 0;
      out_.addresses_known |= model_.memory[i].address != 0;
    }
    find_peak();
    Blocks at_peak = replay(peak_event_);
    u64 seen = 0;
    for (const auto& [address, block] : at_peak) seen += block.bytes;
    out_.unseen_bytes = out_.peak_bytes > seen ? out_.peak_bytes - seen : 0;
    out_.owners = owners_of(at_peak, INT64_MIN, INT64_MAX);
    if (windows.has_steps) find_growth(windows);
    return std::move(out_);
  }

 private:
  // The bytes allocated after each event of the device.
  u64 allocated(u32 i, i64 sum) const {
    return out_.totals_known ? model_.memory[i].total_allocated : u64(std::max<i64>(0, sum));
  }

  void find_peak() {
    i64 sum = 0;
    Blocks alive;
    for (u32 k = 0; k < events_.size(); k++) {
      const MemoryEvent& e = model_.memory[events_[k]];
      if (apply(alive, e, events_[k])) sum += e.bytes;
      u64 now = allocated(events_[k], sum);
      totals_.push_back(now);
      out_.peak_reserved_bytes = std::max(out_.peak_reserved_bytes, e.total_reserved);
      if (e.total_reserved > now && e.total_reserved - now > out_.unused_bytes) {
        out_.unused_bytes = e.total_reserved - now;
        out_.unused_ns = e.ns;
      }
      if (now <= out_.peak_bytes && k) continue;
      out_.peak_bytes = now;
      out_.unused_at_peak_bytes = e.total_reserved > now ? e.total_reserved - now : 0;
      out_.peak_ns = e.ns;
      peak_event_ = k;
    }
    out_.releases_unknown = unknown_;
  }

  // False: it released a block whose allocation was not recorded.
  bool apply(Blocks& alive, const MemoryEvent& e, u32 index) {
    if (!out_.addresses_known) return true;
    if (e.bytes > 0) {
      alive[e.address] = {u64(e.bytes), index};
      return true;
    }
    bool known = alive.erase(e.address) != 0;
    unknown_ += !known;
    return known;
  }

  // What is alive after event `last` of the device.
  Blocks replay(size_t last) {
    Blocks alive;
    for (size_t k = 0; k <= last && k < events_.size(); k++) apply(alive, model_.memory[events_[k]], events_[k]);
    return alive;
  }

  // The blocks that were allocated in [begin, end).
  std::vector<Owner> owners_of(const Blocks& alive, i64 begin, i64 end) const {
    std::map<std::pair<u32, u32>, Owner> sums;
    for (const auto& [address, block] : alive) {
      const MemoryEvent& e = model_.memory[block.event];
      if (e.ns < begin || e.ns >= end) continue;
      i32 op = ops_[block.event];
      u32 stack = e.stack ? e.stack : op >= 0 ? model_.events[op].stack : 0;
      u32 name = op >= 0 ? model_.events[op].name : kNone;
      Owner& owner = sums.try_emplace({name, stack}, Owner{op, name, stack}).first->second;
      owner.bytes += block.bytes;
      owner.blocks++;
      owner.op = std::min(owner.op, op);
    }
    std::vector<Owner> out;
    for (auto& [key, owner] : sums) out.push_back(owner);
    std::stable_sort(out.begin(), out.end(), [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
    return out;
  }

  void find_growth(const Windows& windows) {
    size_t k = 0;
    for (const Interval& step : windows.steps) {
      while (k < events_.size() && model_.memory[events_[k]].ns < step.end) k++;
      out_.at_step_end.push_back(k ? totals_[k - 1] : 0);
    }
    const std::vector<u64>& ends = out_.at_step_end;
    if (ends.size() < kLeakSteps) return;
    out_.growth_known = true;
    std::vector<i64> growth;
    for (size_t s = 2; s < ends.size(); s++) growth.push_back(i64(ends[s] - ends[s - 1]));
    auto counted = growth.end() - (growth.size() >= kLeakSteps);
    out_.grows = *std::min_element(growth.begin(), counted) > 0;
    out_.growth_bytes = median_of(growth);
    if (out_.grows && out_.addresses_known)
      out_.kept =
          owners_of(replay(k - 1), windows.steps[1].begin, windows.steps[ends.size() - 2].end);  // k: after the steps
  }

  const Model& model_;
  const std::vector<i32>& ops_;
  std::vector<u32> events_;  // of this device: indices into Model::memory
  std::vector<u64> totals_;  // bytes allocated after each event
  size_t peak_event_ = 0;
  u64 unknown_ = 0;
  MemoryPeak out_;
};

}  // namespace

std::vector<MemoryPeak> memory_peaks(const Model& model, const Windows& windows) {
  std::map<std::pair<u8, i8>, std::vector<u32>> devices;
  std::vector<i32> ops(model.memory.size(), -1);
  Innermost innermost(model);
  for (u32 i = 0; i < model.memory.size(); i++) {
    const MemoryEvent& e = model.memory[i];
    if (!counts(e)) continue;
    ops[i] = innermost.at(e.thread, e.ns);
    devices[{e.device_type, e.device_index}].push_back(i);
  }
  std::vector<MemoryPeak> out;
  for (auto& [key, events] : devices) out.push_back(Device(model, ops, std::move(events)).run(windows));
  return out;
}

}  // namespace tprof
