#include "model/gpu/occupancy.h"

#include <algorithm>

namespace tprof {
namespace {

constexpr i64 kRegisterUnit = 256;  // a warp gets registers in units of this size
constexpr i64 kMaxRegisters = 256;  // per thread
constexpr i64 kNoLimit = INT32_MAX;

i64 round_up(i64 value, i64 unit) { return (value + unit - 1) / unit * unit; }

i64 blocks_by_registers(i64 registers, i64 warps, const DeviceRecord& d) {
  if (registers == 0) return kNoLimit;
  i64 partitions = d.compute_major == 6 && d.compute_minor == 0 ? 2 : 4;
  i64 per_warp = round_up(registers * d.warp_size, kRegisterUnit);
  // The check at launch assumes that every partition gets as many warps as the fullest one.
  if (per_warp * round_up(warps, partitions) > i64(d.registers_per_block) || registers > kMaxRegisters) return 0;
  return i64(d.registers_per_multiprocessor) / partitions / per_warp * partitions / warps;
}

i64 blocks_by_shared_memory(i64 shared, const DeviceRecord& d) {
  i64 limit =
      shared > i64(d.shared_per_block) ? std::max(d.shared_per_block, d.shared_per_block_optin) : d.shared_per_block;
  i64 set_aside = round_up(shared + d.shared_reserved_per_block, d.compute_major >= 8 ? 128 : 256);
  if (set_aside > limit + d.shared_reserved_per_block) return 0;
  return set_aside ? i64(d.shared_per_multiprocessor) / set_aside : kNoLimit;
}

}  // namespace

Occupancy occupancy_of(const KernelRecord& k, const DeviceRecord* device) {
  Occupancy out;
  if (!device || device->multiprocessors == 0 || device->warp_size == 0) return out;
  const DeviceRecord& d = *device;
  auto volume = [](const i32(&size)[3]) { return double(size[0]) * size[1] * size[2]; };
  double blocks = volume(k.grid), threads = volume(k.block);
  if (blocks <= 0 || threads < 1 || threads > 65536) return out;  // impossible: a damaged record
  out.blocks_per_sm = blocks / d.multiprocessors;
  out.warps_per_sm = out.blocks_per_sm * threads / d.warp_size;

  i64 max_threads = d.max_threads_per_multiprocessor, shared = i64(k.static_shared) + k.dynamic_shared;
  if (max_threads == 0 || d.registers_per_multiprocessor == 0 || d.shared_per_multiprocessor == 0 || shared < 0)
    return out;
  i64 warps = round_up(i64(threads), d.warp_size) / d.warp_size;
  i64 active = std::min({max_threads / d.warp_size / warps,
                         d.max_blocks_per_multiprocessor ? i64(d.max_blocks_per_multiprocessor) : kNoLimit,
                         blocks_by_registers(k.registers, warps, d), blocks_by_shared_memory(shared, d)});
  out.active_blocks = static_cast<int>(active);
  double share = std::min(double(active), out.blocks_per_sm) * threads / double(max_threads);
  out.percent = std::clamp(share * 100, 0.0, 100.0);
  return out;
}

}  // namespace tprof
