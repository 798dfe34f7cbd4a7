#include "record/mapping.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/types.h"

namespace tprof {
namespace {

// One mapping. `at` is set last and cleared first. 0: the slot is free; kClaimed: it is about to be filled.
struct Slot {
  std::atomic<uintptr_t> at;
  std::atomic<size_t> bytes;
  std::atomic<std::atomic<bool>*> cut;
};
constexpr uintptr_t kClaimed = 1;

// The table grows by blocks, which are never freed.
struct Block {
  Slot slots[168];
  std::atomic<Block*> next;
};
static_assert(sizeof(Block) <= 4096);
constinit Block g_first = {};

template <class Test>
Slot* find(Test test) {
  for (Block* block = &g_first; block; block = block->next.load(std::memory_order_acquire))
    for (Slot& slot : block->slots)
      if (test(slot)) return &slot;
  return nullptr;
}

Slot* find_mapping(const void* at) {
  return find([&](Slot& p) { return p.at.load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(at); });
}

bool claim(Slot& slot) {
  uintptr_t nothing = 0;
  return slot.at.load(std::memory_order_relaxed) == 0 && slot.at.compare_exchange_strong(nothing, kClaimed);
}

bool add_block() {
  void* at = mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  Block *last = &g_first, *next = nullptr;
  while (!last->next.compare_exchange_strong(next, static_cast<Block*>(at))) {
    last = next;
    next = nullptr;
  }
  return true;
}

Slot* claim_slot() {
  Slot* slot;
  while (!(slot = find(claim)))
    if (!add_block()) return nullptr;
  return slot;
}

}  // namespace

void* map_shared(int fd, off_t offset, size_t bytes, int protection, std::atomic<bool>* cut) {
  Slot* slot = claim_slot();
  if (!slot) return errno = ENOMEM, MAP_FAILED;
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED, fd, offset);
  slot->bytes.store(bytes, std::memory_order_relaxed);
  slot->cut.store(cut, std::memory_order_relaxed);
  slot->at.store(at == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(at), std::memory_order_release);
  return at;
}

void unmap_shared(void* at, size_t bytes) {
  if (Slot* slot = find_mapping(at)) slot->at.store(0, std::memory_order_release);
  munmap(at, bytes);
}

void reassign_mapping(const void* at, std::atomic<bool>* cut) {
  if (Slot* slot = find_mapping(at)) slot->cut.store(cut, std::memory_order_relaxed);
}

bool replace_mapping(const void* address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  Slot* slot = find([&](Slot& p) {
    uintptr_t at = p.at.load(std::memory_order_acquire);
    return at > kClaimed && wanted - at < p.bytes.load(std::memory_order_relaxed);
  });
  if (!slot) return false;
  void* at = reinterpret_cast<void*>(slot->at.load(std::memory_order_relaxed));
  size_t bytes = slot->bytes.load(std::memory_order_relaxed);
  // Set first, so that whoever sees the empty pages can find out why.
  if (std::atomic<bool>* cut = slot->cut.load(std::memory_order_relaxed)) cut->store(true);
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

}  // namespace tprof
