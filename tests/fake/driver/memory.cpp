#include "memory.h"

#include <sys/mman.h>

namespace sim {
namespace {

constexpr u64 kDeviceBase = 0x300000000000, kDeviceStep = 0x10000000000;
constexpr u64 kHostBase = 0x200000000000, kManagedBase = 0x210000000000;
constexpr u64 kHostBytes = 64ull << 30;

}  // namespace

void Arena::reserve(u64 address, u64 bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* at = mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at != MAP_FAILED) free_[reinterpret_cast<u64>(at)] = bytes;
}

void* Arena::allocate(u64 bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second < bytes) continue;
    auto [address, left] = *range;
    free_.erase(range);
    if (left > bytes) free_[address + bytes] = left - bytes;
    return reinterpret_cast<void*>(address);
  }
  return nullptr;
}

void Arena::release(void* pointer, u64 bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  u64 address = reinterpret_cast<u64>(pointer);
  u64 page = (address + 4095) & ~4095ull, end = (address + bytes) & ~4095ull;
  if (end > page) madvise(reinterpret_cast<void*>(page), end - page, MADV_DONTNEED);
  auto next = free_.lower_bound(address);
  if (next != free_.end() && next->first == address + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  free_[address] = bytes;
}

Memory::Memory(int devices, u64 bytes_per_device) : total_(bytes_per_device), device_arenas_(devices), used_(devices) {
  for (int i = 0; i < devices; i++) device_arenas_[i].reserve(kDeviceBase + i * kDeviceStep, bytes_per_device);
  host_arena_.reserve(kHostBase, kHostBytes);
  managed_arena_.reserve(kManagedBase, kHostBytes);
}

void* Memory::allocate(u64 bytes, MemoryKind kind, int device, Pool* pool) {
  Arena& arena = kind == MemoryKind::device   ? device_arenas_[device]
                 : kind == MemoryKind::pinned ? host_arena_
                                              : managed_arena_;
  void* pointer = arena.allocate(bytes);
  if (pointer == nullptr) return nullptr;
  if (kind == MemoryKind::device) used_[device] += bytes;
  blocks_[reinterpret_cast<u64>(pointer)] = {bytes, kind, device, &arena, pool};
  return pointer;
}

bool Memory::release(void* pointer, Block* was) {
  auto block = blocks_.find(reinterpret_cast<u64>(pointer));
  if (block == blocks_.end()) return false;
  *was = block->second;
  blocks_.erase(block);
  if (was->arena == nullptr) return true;
  was->arena->release(pointer, was->bytes);
  if (was->kind == MemoryKind::device) used_[was->device] -= was->bytes;
  return true;
}

const Block* Memory::find(const void* pointer, u64* base) const {
  u64 address = reinterpret_cast<u64>(pointer);
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  if (address >= block->first + block->second.bytes && address != block->first) return nullptr;
  *base = block->first;
  return &block->second;
}

}  // namespace sim
