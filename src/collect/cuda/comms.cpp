#include "collect/cuda/comms.h"

#include <atomic>

namespace tprof {
namespace {

struct Comm {
  std::atomic<void*> handle{nullptr};
  std::atomic<u64> group{0};
  std::atomic<u64> place{0};  // ranks << 32 | rank; 0 not known
  std::atomic<i64> calls{0};
  std::atomic<u64> parts{0};  // communicators that were made of it
};

// Beyond that the communicators are not known, and neither are the numbers of their calls.
constexpr u32 kSlots = 1024, kTries = 64;
constinit Comm g_comms[kSlots];

// Marks of `handle`: free again, and being filled.
char g_free, g_filling;

u32 slot_of(void* comm, u32 attempt) { return u32((reinterpret_cast<uintptr_t>(comm) >> 6) + attempt) % kSlots; }

Comm* find(void* comm) {
  for (u32 i = 0; comm && i < kTries; i++) {
    Comm& c = g_comms[slot_of(comm, i)];
    void* handle = c.handle.load(std::memory_order_acquire);
    if (handle == comm) return &c;
    if (!handle) return nullptr;
  }
  return nullptr;
}

Comm* claim(void* comm) {
  if (Comm* known = find(comm)) return known;  // of one whose end was not seen
  for (u32 i = 0; i < kTries; i++) {
    Comm& c = g_comms[slot_of(comm, i)];
    void* handle = c.handle.load(std::memory_order_relaxed);
    if ((!handle || handle == &g_free) && c.handle.compare_exchange_strong(handle, &g_filling)) return &c;
  }
  return nullptr;
}

// FNV-1a, without 0.
constexpr u64 kSeed = 0xcbf29ce484222325;
u64 hash(const void* bytes, size_t count, u64 from) {
  for (size_t i = 0; i < count; i++) from = (from ^ static_cast<const u8*>(bytes)[i]) * 0x100000001b3;
  return from ? from : 1;
}

void set_place(Comm& c, u32 ranks, i32 rank) {
  c.place.store(ranks && rank >= 0 ? u64(ranks) << 32 | u32(rank) : 0, std::memory_order_relaxed);
}

NcclPart part_of(const Comm& c) {
  NcclPart on = no_comm();
  on.group = c.group.load(std::memory_order_relaxed);
  u64 place = c.place.load(std::memory_order_relaxed);
  on.ranks = u32(place >> 32);
  if (place) on.rank = i32(u32(place));
  return on;
}

}  // namespace

u64 comm_group(const void* ids, size_t bytes) { return ids ? hash(ids, bytes, kSeed) : 0; }

u64 comm_part(void* from, u64 way) {
  Comm* c = find(from);
  u64 group = c ? c->group.load(std::memory_order_relaxed) : 0;
  if (!group) return 0;
  u64 words[] = {group, c->parts.fetch_add(1, std::memory_order_relaxed), way};
  return hash(words, sizeof words, kSeed);
}

NcclPart comm_made(void* comm, u64 group, u32 ranks, i32 rank) {
  Comm* c = comm ? claim(comm) : nullptr;
  if (!c) return no_comm();
  c->group.store(group, std::memory_order_relaxed);
  set_place(*c, ranks, rank);
  c->calls.store(0, std::memory_order_relaxed);
  c->parts.store(0, std::memory_order_relaxed);
  c->handle.store(comm, std::memory_order_release);
  return part_of(*c);
}

void comm_placed(void* comm, u32 ranks, i32 rank) {
  if (Comm* c = find(comm)) set_place(*c, ranks, rank);
}

NcclPart comm_called(void* comm, i32 peer, bool counted) {
  Comm* c = find(comm);
  NcclPart on = c ? part_of(*c) : no_comm();
  if (c && counted) on.number = c->calls.fetch_add(1, std::memory_order_relaxed) + 1;
  on.peer = peer;
  return on;
}

NcclPart comm_gone(void* comm) {
  Comm* c = find(comm);
  if (!c) return no_comm();
  NcclPart on = part_of(*c);
  c->handle.store(&g_free, std::memory_order_release);
  return on;
}

}  // namespace tprof
