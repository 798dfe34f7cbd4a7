// Appends ranges to the calling thread's chunk. Everything here runs between enter() and leave(). What happens at
// every operator is inline; what is rare (a new chunk, a new name, an end out of order) is in recorder.cpp.
//
// Which epoch is being recorded is one atomic, g_epoch. A thread whose chunk is of another epoch takes a new one,
// so a chunk holds records of one epoch only; a range that began in an earlier window is not ended (the reader
// clips it), one that began in an earlier chunk of this window gets a range_end record.
#pragma once
#include <string.h>

#include "base/clock.h"
#include "collect/recorder/thread.h"
#include "record/writer.h"

namespace tprof {

// Decides by one load of 8 bytes whether a hook has anything to do. `epoch`: the one that is being recorded, kNoEpoch
// if none is. `leader`: kNoEpoch unless this process follows a leader, whose state hooks then have to look at.
struct alignas(8) Gate {
  std::atomic<u32> epoch{kNoEpoch};
  std::atomic<u32> leader{kNoEpoch};
};
extern Gate g_gate;
inline constexpr std::atomic<u32>& g_epoch = g_gate.epoch;
// Flight mode: the first epoch of the open window that still has its chunks; else kNoEpoch.
extern std::atomic<u32> g_first_epoch;
// Called whenever a thread needs another chunk, if it is set. Flight mode depends on the helper thread, which stops
// before each fork.
extern std::atomic<void (*)()> g_chunk_needed;
// Changes when this process starts another recording file: per-thread caches of the old one are void.
extern std::atomic<u32> g_generation;

inline u32 recording_epoch() { return g_epoch.load(std::memory_order_relaxed); }
// Whether the end of what began in epoch `began` is recorded in `epoch`, the one that is recorded now: a range that
// outlives its window is not ended.
inline bool is_same_window(u32 began, u32 epoch) {
  if (__builtin_expect(began == epoch, 1)) return epoch != kNoEpoch;
  return epoch != kNoEpoch && began < epoch && began >= g_first_epoch.load(std::memory_order_relaxed);
}
inline bool gate_closed() {
  return __atomic_load_n(reinterpret_cast<const u64*>(&g_gate), __ATOMIC_RELAXED) == ~u64(0);
}
inline bool follows_leader() { return g_gate.leader.load(std::memory_order_relaxed) != kNoEpoch; }

// Space for the inputs that follow a RangeRecord. At most this much is used; a chunk with less space left is retired.
constexpr u32 kMaxInputBytes = 8 << 10;

// The helper thread has touched fresh chunks, so their lines are in another core's cache, and a store to one of them
// would hold up the stores after it. Lines are therefore prefetched some records ahead. A prefetch never faults.
constexpr u32 kWrittenAhead = 512;  // bytes
inline void will_write(const char* at) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*at));  // GCC's builtin requests shared lines unless -m allows newer instructions
#else
  __builtin_prefetch(at, 1);
#endif
}

// A range that was opened; its link and inputs may still be appended.
struct RangeSlot {
  RangeRecord* record = nullptr;  // nullptr: not recorded
  char* tail = nullptr;           // room for a RangeLink, a StackRef and kMaxInputBytes
};

// Opens a range; the record becomes visible with commit_range. `key` finds it again at its end.
RangeSlot begin_range(ThreadBlock* block, u32 epoch, const void* key);
// `tail_bytes`: how much was written at slot.tail.
void commit_range(ThreadBlock* block, const RangeSlot& slot, u32 name, u32 tail_bytes);

// Appends a record. `what` becomes the id in its head, which need not be filled. If `stack` is not empty, a StackRef
// follows the record.
void add_memory(ThreadBlock* block, u32 epoch, u32 what, const MemoryRecord& record, StackRef stack = {});

// Ends the innermost open range with this key at `ticks`. Ranges that were opened inside it and never ended are
// closed with it. False if it is not open on this thread.
bool end_range(ThreadBlock* block, const void* key, u64 ticks);

// The id of a string in the recording, 0 if there was no room. Cached by address, then found by content. Strings longer
// than kLongestName are cut.
constexpr size_t kLongestName = 16 << 10;
u32 intern(ThreadBlock* block, const char* text);
u32 intern_bytes(const char* text, size_t bytes);
// Cached by content alone: for texts whose address changes from call to call.
u32 intern_text(ThreadBlock* block, const char* text, size_t bytes);
// Bytes of a text, at most `most`, with no UTF-8 character cut in two.
size_t length_of(const char* text, size_t most);
u32 hash_of(const char* text, size_t bytes);

// The program named a thread: its name in this recording and in later ones.
void name_thread(u32 tid, const char* name);

// Ranges that may end on another thread than they began on (torch's asynchronous ones).
void begin_async(const void* key, RecordRef ref, u32 epoch);
bool end_async(ThreadBlock* block, const void* key, u64 ticks);

// Waits (up to `timeout_ns`) until no other thread is still writing into a chunk of another epoch than `epoch`.
bool quiesce(u32 epoch, u64 timeout_ns);

// Waits (up to `timeout_ns`) until every thread that is inside a hook now has left it once.
bool leave_hooks(u64 timeout_ns);

// In a forked child.
void reset_recorder_in_child();

// --- implementation of the inline functions

// Their rare halves. refuse_range: the range is not recorded, but its end must find its begin.
char* reserve_slowly(ThreadBlock* block, u32 epoch);
RangeSlot refuse_range(ThreadBlock* block, const void* key);
bool end_range_slowly(ThreadBlock* block, const void* key, u64 ticks);
void add_range_end(ThreadBlock* block, u32 epoch, RecordRef ref, u64 ticks);
u32 intern_slowly(CachedName& slot, const char* text);
u32 intern_text_slowly(KnownText* pair, const char* text, size_t bytes);

inline char* reserve(ThreadBlock* block, u32 epoch, u32 bytes) {
  bool fits = block->chunk && block->epoch == epoch && block->used + bytes <= kChunkBytes;
  if (__builtin_expect(!fits, 0)) return reserve_slowly(block, epoch);
  char* at = reinterpret_cast<char*>(block->chunk) + block->used;
  will_write(at + kWrittenAhead);
  return at;
}

// The head last, in one store: a record is whole or absent.
inline void publish(ThreadBlock* block, char* at, Kind kind, u32 id, u32 bytes) {
  RecordHead head{u16(kind), u16(bytes / 8), id};
  u64 word;
  memcpy(&word, &head, sizeof word);
  std::atomic_ref<u64>(*reinterpret_cast<u64*>(at)).store(word, std::memory_order_release);
  block->used += bytes;
}

inline RecordRef ref_of(const ThreadBlock* block, const void* record) {
  return RecordRef(block->chunk_index) << 32 |
         RecordRef(reinterpret_cast<const char*>(record) - reinterpret_cast<const char*>(block->chunk));
}

// The bytes of a range with everything that may follow it.
constexpr u32 kLargestRange = sizeof(RangeRecord) + sizeof(RangeLink) + sizeof(StackRef) + kMaxInputBytes;

// Needs kLargestRange free bytes at `at`, and open_count < kMaxOpen.
inline RangeSlot open_range(ThreadBlock* block, char* at, u32 epoch, const void* key) {
  auto* record = reinterpret_cast<RangeRecord*>(at);
  block->open[block->open_count++] = {key, &record->end_ticks, ref_of(block, record), epoch};
  return {record, at + sizeof(RangeRecord)};
}

inline RangeSlot begin_range(ThreadBlock* block, u32 epoch, const void* key) {
  char* at = block->open_count < kMaxOpen ? reserve(block, epoch, kLargestRange) : nullptr;
  if (__builtin_expect(!at, 0)) return refuse_range(block, key);
  return open_range(block, at, epoch, key);
}

inline void commit_range(ThreadBlock* block, const RangeSlot& slot, u32 name, u32 tail_bytes) {
  publish(block, reinterpret_cast<char*>(slot.record), Kind::range, name, u32(sizeof(RangeRecord)) + tail_bytes);
}

inline void add_memory(ThreadBlock* block, u32 epoch, u32 what, const MemoryRecord& record, StackRef stack) {
  char* at = reserve(block, epoch, sizeof record + sizeof stack);
  if (!at) return;
  memcpy(at + sizeof record.head, &record.ticks, sizeof record - sizeof record.head);
  u32 bytes = sizeof record;
  if (stack.python || stack.native) {
    memcpy(at + bytes, &stack, sizeof stack);
    bytes += sizeof stack;
    what |= u32(kMemoryStack) << 16;
  }
  publish(block, at, Kind::memory, what, bytes);
}

inline void end_open(ThreadBlock* block, const OpenRange& range, u32 epoch, u64 ticks) {
  if (!is_same_window(range.epoch, epoch)) return;
  if (block->chunk && block->epoch == epoch && block->chunk_index == range.ref >> 32)
    *range.end_ticks = ticks;
  else
    add_range_end(block, epoch, range.ref, ticks);
}

inline bool end_range(ThreadBlock* block, const void* key, u64 ticks) {
  u32 count = block->open_count;
  if (__builtin_expect(count == 0 || block->open[count - 1].key != key, 0)) return end_range_slowly(block, key, ticks);
  block->open_count = count - 1;
  end_open(block, block->open[count - 1], recording_epoch(), ticks);
  return true;
}

// Whether words of 8 bytes may be compared: the name has at least one, and none reaches beyond the page of `text`.
inline bool compares_by_words(const CachedName& slot, const char* text) {
#ifdef __SANITIZE_ADDRESS__
  return false;
#endif
  return __builtin_expect((reinterpret_cast<uintptr_t>(text) & 4095) + slot.bytes <= 4096 && slot.bytes >= 8, 1);
}

inline u64 word_at(const char* text) {
  u64 word;
  memcpy(&word, text, 8);
  return word;
}

// `bytes` is at least 8.
inline bool same_words(const char* a, const char* b, u32 bytes) {
  for (u32 at = 0; at + 8 < bytes; at += 8)
    if (word_at(a + at) != word_at(b + at)) return false;
  return word_at(a + bytes - 8) == word_at(b + bytes - 8);
}

// Whether `text` is the name in `slot`. Reads as many bytes as the name has, which may be beyond the end of a shorter
// text, but not beyond its page.
inline bool same_name(const CachedName& slot, const char* text) {
  return compares_by_words(slot, text) ? same_words(slot.copy, text, slot.bytes) : !strcmp(text, slot.copy);
}

// The slot in which a name is cached, if it is.
inline CachedName& cache_slot(ThreadBlock* block, const char* text) {
  u64 spread = reinterpret_cast<uintptr_t>(text) * 0x9e3779b97f4a7c15ull;
  return block->names[spread >> (64 - kNameCacheBits)];
}

inline u32 intern(ThreadBlock* block, const char* text) {
  CachedName& slot = cache_slot(block, text);
  if (__builtin_expect(slot.text == text && same_name(slot, text), 1)) return slot.id;
  return intern_slowly(slot, text);
}

// The whole of a text of less than 8 bytes.
inline u64 short_word(const char* text, size_t bytes) {
  if (bytes == 0) return 0;
  u32 first, last;
  if (bytes < 4) return u64(u8(text[0])) | u64(u8(text[bytes / 2])) << 8 | u64(u8(text[bytes - 1])) << 16;
  memcpy(&first, text, 4);
  memcpy(&last, text + bytes - 4, 4);
  return first | u64(last) << 32;
}

// The pair of slots in which a text is cached, if it is. Names mostly differ in their last 16 bytes or in their length.
inline KnownText* text_pair(ThreadBlock* block, const char* text, size_t bytes) {
  u64 last = bytes >= 8 ? word_at(text + bytes - 8) : short_word(text, bytes);
  u64 before = bytes >= 16 ? word_at(text + bytes - 16) : bytes >= 8 ? word_at(text) : 0;
  u64 spread = (last ^ before * 0x9e3779b97f4a7c15ull ^ bytes) * 0x9e3779b97f4a7c15ull;
  return block->texts + 2 * (spread >> (65 - kKnownTextBits));
}

// 0: not in the cache.
inline u32 known_text(const KnownText* pair, const char* text, size_t bytes) {
  for (const KnownText* known = pair; known < pair + 2; known++) {
    if (known->bytes != bytes) continue;
    if (bytes >= 8 ? same_words(known->text, text, u32(bytes))
                   : short_word(known->text, bytes) == short_word(text, bytes))
      return known->id;
  }
  return 0;
}

inline u32 intern_text(ThreadBlock* block, const char* text, size_t bytes) {
  KnownText* pair = text_pair(block, text, bytes);
  u32 id = known_text(pair, text, bytes);
  return id ? id : intern_text_slowly(pair, text, bytes);
}

}  // namespace tprof
