#include "record/mapping.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/types.h"

namespace tprof {
namespace {

// One mapping. `at` is written last and taken back first: 0 free, kClaimed about to be filled.
struct Place {
  std::atomic<uintptr_t> at;
  std::atomic<size_t> bytes;
  std::atomic<std::atomic<bool>*> cut;
};
constexpr uintptr_t kClaimed = 1;

// The table grows by blocks, which stay.
struct Block {
  Place places[168];
  std::atomic<Block*> next;
};
static_assert(sizeof(Block) <= 4096);
constinit Block g_first = {};

template <class Test>
Place* find(Test test) {
  for (Block* block = &g_first; block; block = block->next.load(std::memory_order_acquire))
    for (Place& place : block->places)
      if (test(place)) return &place;
  return nullptr;
}

Place* find_mapping(const void* at) {
  return find([&](Place& p) { return p.at.load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(at); });
}

bool claim(Place& place) {
  uintptr_t nothing = 0;
  return place.at.load(std::memory_order_relaxed) == 0 && place.at.compare_exchange_strong(nothing, kClaimed);
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

Place* claim_place() {
  Place* place;
  while (!(place = find(claim)))
    if (!add_block()) return nullptr;
  return place;
}

}  // namespace

void* map_shared(int fd, off_t offset, size_t bytes, int protection, std::atomic<bool>* cut) {
  Place* place = claim_place();
  if (!place) return errno = ENOMEM, MAP_FAILED;
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED, fd, offset);
  place->bytes.store(bytes, std::memory_order_relaxed);
  place->cut.store(cut, std::memory_order_relaxed);
  place->at.store(at == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(at), std::memory_order_release);
  return at;
}

void unmap_shared(void* at, size_t bytes) {
  if (Place* place = find_mapping(at)) place->at.store(0, std::memory_order_release);
  munmap(at, bytes);
}

void reassign_mapping(const void* at, std::atomic<bool>* cut) {
  if (Place* place = find_mapping(at)) place->cut.store(cut, std::memory_order_relaxed);
}

bool replace_mapping(const void* address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  Place* place = find([&](Place& p) {
    uintptr_t at = p.at.load(std::memory_order_acquire);
    return at > kClaimed && wanted - at < p.bytes.load(std::memory_order_relaxed);
  });
  if (!place) return false;
  void* at = reinterpret_cast<void*>(place->at.load(std::memory_order_relaxed));
  size_t bytes = place->bytes.load(std::memory_order_relaxed);
  // Said first: who sees the empty pages can know why.
  if (std::atomic<bool>* cut = place->cut.load(std::memory_order_relaxed)) cut->store(true);
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

}  // namespace tprof
