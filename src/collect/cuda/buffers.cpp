#include "collect/cuda/buffers.h"

#include <string.h>
#include <sys/mman.h>

namespace tprof {
namespace {

constexpr size_t kScrapBytes = 64 << 10;
alignas(64) u8 g_scrap[kScrapBytes];

}  // namespace

bool BufferPool::add() {
  u32 index = count_.fetch_add(1);
  if (index >= kMaxBuffers) {
    count_.store(kMaxBuffers);
    return false;
  }
  void* at = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  buffers_[index].at.store(static_cast<u8*>(at), std::memory_order_release);
  return true;
}

void BufferPool::prepare() {
  while (count_.load() < kFirst && add()) {
  }
}

u8* BufferPool::take(size_t* bytes, u64 now_ns) {
  do {
    for (u32 i = 0; i < kMaxBuffers && i < count_.load(std::memory_order_acquire); i++) {
      u64 here = 0;
      u8* at = buffers_[i].at.load(std::memory_order_acquire);
      if (!at || !buffers_[i].taken_ns.compare_exchange_strong(here, now_ns, std::memory_order_acq_rel)) continue;
      *bytes = kBufferBytes;
      return at;
    }
  } while (add());
  *bytes = kScrapBytes;
  return g_scrap;
}

void BufferPool::give_back(u8* buffer) {
  for (u32 i = 0; i < kMaxBuffers && i < count_.load(std::memory_order_acquire); i++)
    if (buffers_[i].at.load(std::memory_order_relaxed) == buffer) {
      memset(buffer, 0, 8);
      buffers_[i].taken_ns.store(0, std::memory_order_release);
      return;
    }
}

bool BufferPool::is_scrap(const u8* buffer) const { return buffer == g_scrap; }

bool BufferPool::holds_content_from_before(u64 ns) const {
  for (u32 i = 0; i < kMaxBuffers && i < count_.load(std::memory_order_acquire); i++) {
    u64 taken = buffers_[i].taken_ns.load(std::memory_order_acquire);
    if (!taken || taken > ns) continue;
    const u8* at = buffers_[i].at.load(std::memory_order_relaxed);
    if (__atomic_load_n(reinterpret_cast<const u32*>(at), __ATOMIC_RELAXED) != 0) return true;
  }
  return false;
}

}  // namespace tprof
