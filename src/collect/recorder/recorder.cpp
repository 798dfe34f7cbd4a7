#include "collect/recorder/recorder.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/uncancelled.h"

namespace tprof {

constinit Gate g_gate;
std::atomic<u32> g_first_epoch{kNoEpoch};
std::atomic<void (*)()> g_chunk_needed{nullptr};
std::atomic<u32> g_generation{0};

namespace {

// --- Names: one table of all strings in the recording, found by content. Only misses of the per-thread cache get here.
// The table is read without the lock; the memory of a record stays mapped.
constexpr u32 kNameSlots = 1 << 15;
std::atomic<const NameRecord*> g_names[kNameSlots];
// When the table is full, the latest string of each hash, so that those that come again and again, as kernels do beside
// labels with a number of their own, are not written each time.
constexpr u32 kLatestSlots = 1 << 12;
std::atomic<const NameRecord*> g_latest_names[kLatestSlots];
SpinLock g_names_lock;

// --- Ranges that may end on another thread. Few are open at a time.
constexpr u32 kAsyncSlots = 512;
struct AsyncRange {
  const void* key;
  RecordRef ref;
  u32 epoch;
} g_async[kAsyncSlots];
std::atomic<u32> g_async_open{0};  // slots in use; most programs never use one
SpinLock g_async_lock;

const char* text_of(const NameRecord* record) { return reinterpret_cast<const char*>(record + 1); }

bool is_text(const NameRecord* r, const char* text, size_t bytes) {
  return r->bytes == bytes && !memcmp(text_of(r), text, bytes);
}

// The slot that holds the string, else the first free one of those that it may be in, else that of the latest.
std::atomic<const NameRecord*>& name_slot(const char* text, size_t bytes, u32 hash) {
  for (u32 i = 0; i < 64; i++) {
    auto& slot = g_names[(hash + i) % kNameSlots];
    const NameRecord* r = slot.load(std::memory_order_acquire);
    if (!r || is_text(r, text, bytes)) return slot;
  }
  return g_latest_names[hash % kLatestSlots];
}

const NameRecord* find_or_add_name(const char* text, size_t bytes) {
  u32 hash = hash_of(text, bytes);
  auto known = [&]() -> const NameRecord* {
    const NameRecord* r = name_slot(text, bytes, hash).load(std::memory_order_acquire);
    return r && is_text(r, text, bytes) ? r : nullptr;
  };
  if (const NameRecord* r = known()) return r;
  SpinGuard guard(g_names_lock);
  if (const NameRecord* r = known()) return r;
  int saved = errno;
  const NameRecord* added = g_writer.add_name(text, bytes);
  errno = saved;
  if (added) name_slot(text, bytes, hash).store(added, std::memory_order_release);
  return added;
}

void announce(ThreadBlock* block) {
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  const char* given = given_thread_name(block->tid);
  g_writer.add_thread(block->tid, block->torch_thread, given ? given : name);
  block->announced = 1;
}

// A thread that reuses the block of a thread that has ended continues its chunk: otherwise threads that live for a
// moment would fill TPROF_MAX_SIZE with nearly empty chunks.
bool inherit_chunk(ThreadBlock* block, u32 epoch) {
  bool heir =
      block->chunk && block->epoch == kNoEpoch && block->generation == g_generation.load(std::memory_order_acquire);
  if (!heir || block->left_epoch != epoch || block->used > kChunkBytes / 2 || g_writer.stopped()) return false;
  block->epoch = epoch;
  publish(block, reinterpret_cast<char*>(block->chunk) + block->used, Kind::heir, block->tid, sizeof(HeirRecord));
  announce(block);
  return true;
}

// Gives the thread a chunk of `epoch` with room for any record. False: there is none.
bool change_chunk(ThreadBlock* block, u32 epoch) {
  note_if_bus_is_blocked(block);
  if (inherit_chunk(block, epoch)) return true;
  if (auto call = g_chunk_needed.load(std::memory_order_relaxed)) call();
  u64 begin = now_ticks();
  if (block->chunk) g_writer.retire_chunk(block->chunk, block->epoch == epoch);
  u32 generation = g_generation.load(std::memory_order_acquire);
  if (block->generation != generation) {
    memset(block->names, 0, sizeof block->names);
    memset(block->texts, 0, sizeof block->texts);
    memset(block->schemas, 0, sizeof block->schemas);
    block->generation = generation;
    block->announced = 0;
  }
  block->quick_until = 0;
  block->chunk = g_writer.take_chunk(Stream::data, epoch, block->tid);
  block->used = sizeof(ChunkHeader);
  block->epoch = epoch;
  if (!block->chunk) return false;
  block->chunk_index = block->chunk->index;
  if (!block->announced) announce(block);
  g_writer.header()->own_ticks.fetch_add(now_ticks() - begin, std::memory_order_relaxed);
  return true;
}

// A memory barrier on all threads of this process.
bool barrier_everywhere() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

char* reserve_slowly(ThreadBlock* block, u32 epoch) {
  Uncancelled uncancelled;
  int saved = errno;  // the program's: this runs in its calls, and a chunk may be had although a system call failed
  bool changed = change_chunk(block, epoch);
  errno = saved;
  if (changed) return reinterpret_cast<char*>(block->chunk) + block->used;
  u32 stopped = g_writer.header() ? g_writer.header()->stopped.load(std::memory_order_relaxed) : 0;
  g_writer.drop(stopped ? Drop(stopped - 1) : Drop::no_chunk);
  return nullptr;
}

RangeSlot refuse_range(ThreadBlock* block, const void* key) {
  if (block->open_count < kMaxOpen)
    block->open[block->open_count++] = {key, nullptr, 0, kNoEpoch};
  else
    g_writer.drop(Drop::too_deep);
  return {};
}

void add_range_end(ThreadBlock* block, u32 epoch, RecordRef ref, u64 ticks) {
  char* at = reserve(block, epoch, sizeof(RangeEndRecord));
  if (!at) return;
  auto* r = reinterpret_cast<RangeEndRecord*>(at);
  r->begin = ref;
  r->end_ticks = ticks;
  publish(block, at, Kind::range_end, 0, sizeof *r);
}

bool end_range_slowly(ThreadBlock* block, const void* key, u64 ticks) {
  u32 at = block->open_count;
  while (at > 0 && block->open[at - 1].key != key) at--;
  if (at == 0) return false;
  u32 epoch = recording_epoch();
  // Ranges that were opened inside and never ended (an exception skipped their ends) end here, too.
  for (u32 i = block->open_count; i-- > at - 1;) end_open(block, block->open[i], epoch, ticks);
  block->open_count = at - 1;
  return true;
}

u32 hash_of(const char* text, size_t bytes) {
  u64 h = bytes;
  for (size_t i = 0; i < bytes; i += 8) {
    u64 word = 0;
    memcpy(&word, text + i, bytes - i < 8 ? bytes - i : 8);
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
  }
  return u32(h);
}

size_t length_of(const char* text, size_t most) {
  size_t bytes = strnlen(text, most + 1);
  if (bytes <= most) return bytes;
  bytes = most;
  while (bytes > 0 && (text[bytes] & 0xc0) == 0x80) bytes--;
  return bytes;
}

u32 intern_bytes(const char* text, size_t bytes) {
  const NameRecord* record = find_or_add_name(text, bytes);
  return record ? record->head.id : 0;
}

void name_thread(u32 tid, const char* name) {
  give_thread_name(tid, name);
  if (!g_writer.is_open()) return;
  for (ThreadBlock* b = g_thread_blocks.load(std::memory_order_acquire); b; b = b->next)
    if (b->in_use.load(std::memory_order_relaxed) && b->tid == tid && b->announced)
      g_writer.add_thread(tid, b->torch_thread, name);
}

u32 intern_slowly(CachedName& slot, const char* text) {
  size_t bytes = length_of(text, kLongestName);
  const NameRecord* record = find_or_add_name(text, bytes);
  if (record && bytes < sizeof slot.copy) {
    slot.text = text;
    slot.id = record->head.id;
    slot.bytes = u32(bytes) + 1;
    memcpy(slot.copy, text, bytes + 1);
  }
  return record ? record->head.id : 0;
}

u32 intern_text_slowly(KnownText* pair, const char* text, size_t bytes) {
  u32 id = intern_bytes(text, bytes > kLongestName ? length_of(text, kLongestName) : bytes);
  if (id && bytes && bytes <= sizeof pair->text) {
    pair[1] = pair[0];
    pair->id = id;
    pair->bytes = u32(bytes);
    memcpy(pair->text, text, bytes);
  }
  return id;
}

void begin_async(const void* key, RecordRef ref, u32 epoch) {
  SpinGuard guard(g_async_lock);
  u32 at = u32(reinterpret_cast<uintptr_t>(key) >> 4) % kAsyncSlots;
  for (u32 i = 0; i < kAsyncSlots; i++, at = (at + 1) % kAsyncSlots)
    // A slot of the same key belongs to a range whose end we never saw: its object is gone.
    if (!g_async[at].key || g_async[at].key == key) {
      if (!g_async[at].key) g_async_open.fetch_add(1, std::memory_order_relaxed);
      g_async[at] = {key, ref, epoch};
      return;
    }
}

bool end_async(ThreadBlock* block, const void* key, u64 ticks) {
  if (g_async_open.load(std::memory_order_relaxed) == 0) return false;
  AsyncRange found{};
  {
    SpinGuard guard(g_async_lock);
    u32 at = u32(reinterpret_cast<uintptr_t>(key) >> 4) % kAsyncSlots;
    for (u32 i = 0; i < kAsyncSlots && !found.key; i++, at = (at + 1) % kAsyncSlots)
      if (g_async[at].key == key) {
        found = g_async[at];
        g_async[at] = {};
        g_async_open.fetch_sub(1, std::memory_order_relaxed);
      }
  }
  if (!found.key) return false;
  u32 epoch = recording_epoch();
  if (is_same_window(found.epoch, epoch)) add_range_end(block, epoch, found.ref, ticks);
  return true;
}

bool leave_hooks(u64 timeout_ns) {
  if (!barrier_everywhere()) {
    timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
  }
  u64 deadline = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
  for (ThreadBlock* b = g_thread_blocks.load(std::memory_order_acquire); b; b = b->next)
    while (b != t_self.block && b->in_use.load(std::memory_order_relaxed) && is_inside(b)) {
      if (clock_ns(CLOCK_MONOTONIC) > deadline) return false;
      sched_yield();
    }
  return true;
}

bool quiesce(u32 epoch, u64 timeout_ns) {
  // A thread that becomes busy after the barrier sees the new epoch: only those busy now can still write to old chunks.
  if (!barrier_everywhere()) {
    timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
  }
  u64 deadline = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
  for (ThreadBlock* b = g_thread_blocks.load(std::memory_order_acquire); b; b = b->next)
    while (b != t_self.block && b->in_use.load(std::memory_order_relaxed) && is_inside(b) && b->chunk &&
           b->epoch != epoch) {
      if (clock_ns(CLOCK_MONOTONIC) > deadline) return false;
      sched_yield();
    }
  return true;
}

void reset_recorder_in_child() {
  g_epoch.store(kNoEpoch, std::memory_order_relaxed);
  g_first_epoch.store(kNoEpoch, std::memory_order_relaxed);
  g_chunk_needed.store(nullptr, std::memory_order_relaxed);
  g_generation.fetch_add(1, std::memory_order_relaxed);
  for (auto& name : g_names) name.store(nullptr, std::memory_order_relaxed);
  for (auto& name : g_latest_names) name.store(nullptr, std::memory_order_relaxed);
  memset(g_async, 0, sizeof g_async);
  g_async_open.store(0, std::memory_order_relaxed);
  g_names_lock.reset();
  g_async_lock.reset();
}

}  // namespace tprof
