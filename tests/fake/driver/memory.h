// Memory of the simulated machine: device memory is host memory at fixed high addresses, given out first-fit, so that
// programs compute real results and the same program gets the same addresses.
#pragma once
#include <map>
#include <mutex>
#include <vector>

#include "objects.h"

namespace sim {

// One range of addresses, reserved at once and touched only by its users.
class Arena {
 public:
  void reserve(u64 address, u64 bytes);
  void* allocate(u64 bytes);  // null when there is no room
  void release(void* pointer, u64 bytes);

 private:
  static constexpr u64 kAlign = 512;
  std::map<u64, u64> free_;  // address -> bytes, neighbours merged
};

struct Block {
  u64 bytes = 0;
  MemoryKind kind = MemoryKind::unknown;
  int device = 0;
  Arena* arena = nullptr;  // null: the caller's own memory
  Pool* pool = nullptr;
};

// Every allocation the APIs know of. Not locked: the engine's lock covers it.
class Memory {
 public:
  Memory(int devices, u64 bytes_per_device);
  void* allocate(u64 bytes, MemoryKind kind, int device, Pool* pool);
  void adopt(void* pointer, const Block& block) { blocks_[reinterpret_cast<u64>(pointer)] = block; }
  bool release(void* pointer, Block* was);  // false: not the begin of an allocation
  const Block* find(const void* pointer, u64* base) const;
  u64 used(int device) const { return used_[device]; }
  u64 total() const { return total_; }

 private:
  u64 total_;
  std::vector<Arena> device_arenas_;
  Arena host_arena_, managed_arena_;
  std::vector<u64> used_;
  std::map<u64, Block> blocks_;
};

}  // namespace sim
