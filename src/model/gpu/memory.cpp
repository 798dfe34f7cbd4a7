#include "model/gpu/memory.h"

#include <algorithm>
#include <tuple>

namespace tprof {
namespace {

constexpr i64 kClocksNs = 1000;               // maximum difference between CUPTI's times of a call and those of tprof
constexpr i32 kOutOfMemoryResult = 2;         // of the runtime and of the driver
constexpr u32 kAllocation = 1, kRelease = 2;  // CUpti_ActivityMemoryOperationType
constexpr u32 kPageable = 1, kPinned = 2, kUnknown = 0;  // CUpti_ActivityMemoryKind
constexpr i32 kDeviceNumbers = 64;

}  // namespace

void DeviceMemory::add_call(const CallRecord& r, const CallEvent& call) {
  bool release = r.family == u8(CallFamily::free);
  if (!release && r.family != u8(CallFamily::alloc)) return;
  if (r.flags & kCallHostMemory) return;
  bool failed = r.result != 0;
  if (failed && (release || r.result != kOutOfMemoryResult)) return;
  if (!failed && (!r.address || (!release && !r.bytes))) return;
  i64 begin_ns = call.begin_ns, end_ns = call.end_ns();
  changes_.push_back({release ? begin_ns : end_ns, begin_ns, end_ns, r.address, release ? 0 : r.bytes, call.thread,
                      r.device, release, (r.flags & kCallVirtual) != 0, failed, true, call.stack});
}

void DeviceMemory::add_record(const GpuMemoryRecord& r, i64 ns, u32 thread) {
  u32 operation = r.head.id & 0xff, kind = r.head.id >> 8 & 0xff;
  if (operation != kAllocation && operation != kRelease) return;
  if (kind == kPageable || kind == kPinned || kind == kUnknown || !r.address || !r.bytes) return;
  i32 device = r.place.device < u32(kDeviceNumbers) ? i32(r.place.device) : -1;
  changes_.push_back({ns, ns, ns, r.address, r.bytes, thread, device, operation == kRelease, false, false, false});
}

// Merges CUPTI's record of a call into the interposed call, with the fields that only CUPTI knows.
void DeviceMemory::merge() {
  auto key = [](const Change& c) { return std::tuple(c.physical, c.address, c.release, c.begin_ns); };
  std::sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) { return key(a) < key(b); });
  auto same = [](const Change& a, const Change& b) {
    return a.address == b.address && a.release == b.release && a.physical == b.physical;
  };
  constexpr size_t kNoCall = ~size_t(0);
  std::vector<size_t> next_call(changes_.size(), kNoCall);  // the first one after a record, of the same address
  for (size_t i = changes_.size(); i-- > 1;)
    if (same(changes_[i - 1], changes_[i])) next_call[i - 1] = changes_[i].ours ? i : next_call[i];
  size_t last_call = kNoCall;  // likewise the last one before it
  for (size_t i = 0; i < changes_.size(); i++) {
    Change& theirs = changes_[i];
    if (i && !same(changes_[i - 1], theirs)) last_call = kNoCall;
    if (theirs.ours) {
      last_call = i;
      continue;
    }
    // The call around it begins before it, or shortly after it by the other clock.
    auto try_with = [&](Change& call) {
      if (call.failed) return false;
      if (theirs.ns < call.begin_ns - kClocksNs || theirs.ns > call.end_ns + kClocksNs) return false;
      if (call.release && !call.bytes) call.bytes = theirs.bytes;
      if (call.device < 0) call.device = theirs.device;
      theirs.failed = true;  // marks it for removal
      return true;
    };
    if (last_call != kNoCall && try_with(changes_[last_call])) continue;
    if (next_call[i] != kNoCall) try_with(changes_[next_call[i]]);
  }
  std::erase_if(changes_, [](const Change& c) { return c.failed && !c.ours; });
}

void DeviceMemory::finish(Model& model) {
  if (changes_.empty()) return;
  merge();
  // Releases come before allocations of the same time, so that the address is free for the allocation.
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return std::tuple(a.ns, !a.release, a.address) < std::tuple(b.ns, !b.release, b.address);
  });
  add_events(model);
  changes_.clear();
}

void DeviceMemory::add_events(Model& model) {
  GpuLedger& ledger = model.ledger.gpu;
  i32 only_device = model.devices.size() == 1 ? i32(model.devices.begin()->first) : -1;
  // The first pass finds what was allocated before the first record: blocks whose release is seen but no allocation.
  std::map<i32, u64> totals;
  std::map<Key, Block> live;
  for (int pass = 0; pass < 2; pass++) {
    live.clear();
    for (Change& c : changes_) {
      bool shown = pass == 1 && c.ns >= model.begin_ns && c.ns < model.end_ns;
      if (c.device < 0) c.device = only_device;
      u8 flags = 0;
      i64 bytes = i64(std::min<u64>(c.bytes, INT64_MAX));
      if (c.failed) {
        flags = kMemoryOutOfMemory;
      } else if (c.release) {
        auto block = live.find({c.physical, c.address});
        if (block != live.end()) {
          c.device = block->second.device;
          bytes = -i64(block->second.bytes);
          live.erase(block);
        } else if (c.bytes) {
          if (pass == 0) totals[c.device] += c.bytes;
          bytes = -bytes;
        } else {
          ledger.unknown_releases += shown;
          continue;
        }
      } else {
        auto [block, added] = live.try_emplace({c.physical, c.address}, Block{u64(bytes), c.device});
        if (!added) {  // the release of the block before it was not seen
          if (pass == 1) totals[block->second.device] -= block->second.bytes;
          ledger.missed_releases += shown;
          block->second = {u64(bytes), c.device};
        }
      }
      if (pass == 0) continue;
      u64& total = totals[c.device];
      if (!c.failed) total += u64(bytes);
      if (!shown) continue;
      if (c.device < 0 || c.device >= kDeviceNumbers) {
        model.ledger.dropped["gpu_bad_device"]++;
        continue;
      }
      model.memory.push_back(
          {c.ns, c.address, bytes, total, total, c.thread, kCudaDeviceType, i8(c.device), flags, c.stack});
    }
  }
}

}  // namespace tprof
