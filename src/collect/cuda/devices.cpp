#include "collect/cuda/devices.h"

#include <atomic>

#include "base/elf.h"
#include "record/writer.h"

namespace tprof {
namespace {

constexpr u32 kMaxDevices = 64, kMaxContexts = 1024;
enum class Seen : u32 { no, filled, written };
constinit struct {
  DeviceRecord record;
  std::atomic<Seen> seen;
} g_devices[kMaxDevices] = {};
u64 g_contexts[kMaxContexts / 64];

// cudaDeviceAttr and CUdevice_attribute have the same numbers for these.
constexpr struct {
  u32 DeviceRecord::*field;
  int attribute;
} kAttributes[] = {
    {&DeviceRecord::shared_per_block_optin, 97},
    {&DeviceRecord::shared_reserved_per_block, 111},
    {&DeviceRecord::memory_clock_khz, 36},
    {&DeviceRecord::memory_bus_bits, 37},
    {&DeviceRecord::max_threads_per_multiprocessor, 39},  // CUPTI counts it in warps
};

void read_attributes(u32 id, DeviceRecord& device) {
  int (*attribute)(int* value, int which, int device) = nullptr;
  if (!ElfObject::mapped("libcuda.so").symbol(attribute, "cuDeviceGetAttribute") &&
      !ElfObject::mapped("libcudart.so").symbol(attribute, "cudaDeviceGetAttribute"))
    return;
  for (const auto& a : kAttributes) {
    int value = 0;
    if (attribute(&value, a.attribute, int(id)) == 0 && value > 0) device.*a.field = u32(value);
  }
}

}  // namespace

void device_seen(u32 id, const DeviceRecord& device) {
  if (id >= kMaxDevices || g_devices[id].seen.load(std::memory_order_relaxed) != Seen::no) return;
  g_devices[id].record = device;
  g_devices[id].seen.store(Seen::filled, std::memory_order_release);
}

void context_seen(u32 id, const ContextRecord& context) {
  if (id >= kMaxContexts || g_contexts[id / 64] >> id % 64 & 1) return;
  g_contexts[id / 64] |= u64(1) << id % 64;
  g_writer.add_context(id, context);
}

void devices_complete() {
  for (u32 id = 0; id < kMaxDevices; id++) {
    if (g_devices[id].seen.load(std::memory_order_acquire) != Seen::filled) continue;
    read_attributes(id, g_devices[id].record);
    g_writer.add_device(id, g_devices[id].record);
    g_devices[id].seen.store(Seen::written, std::memory_order_relaxed);
  }
}

}  // namespace tprof
