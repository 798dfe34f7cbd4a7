// Appends ranges to the calling thread's chunk. Everything here runs between enter() and leave().
//
// Which epoch is being recorded is one atomic, g_epoch. A thread whose chunk is of another epoch takes a new one,
// so a chunk holds records of one epoch only; a range that began in an earlier epoch is not ended (the reader
// clips it), one that began in an earlier chunk of this epoch gets a range_end record.
#pragma once
#include <string.h>

#include "base/clock.h"
#include "collect/thread.h"
#include "record/writer.h"

namespace tprof {

constexpr u32 kNoEpoch = 0xffffffff;

// The epoch that is being recorded, kNoEpoch when none is.
extern std::atomic<u32> g_epoch;
// Changes when this process starts another recording file: per-thread caches of the old one are void.
extern std::atomic<u32> g_generation;

inline u32 recording_epoch() { return g_epoch.load(std::memory_order_relaxed); }

// Room for inputs behind a RangeRecord: at most this much is used, so a chunk with less is given up.
constexpr u32 kMaxInputBytes = 8 << 10;

// A begun range whose link and inputs may still be appended.
struct RangeSlot {
  RangeRecord* record = nullptr;  // nullptr: not recorded
  char* tail = nullptr;           // room for a RangeLink and kMaxInputBytes
};

// Opens a range; the record becomes visible with commit_range. `key` finds it again at its end.
RangeSlot begin_range(ThreadBlock* block, u32 epoch, const void* key);
// `tail_bytes`: what was written at slot.tail.
void commit_range(ThreadBlock* block, const RangeSlot& slot, u32 name, u32 tail_bytes);

// A whole record of its own: `what` is its head's id, its head need not be filled.
void add_memory(ThreadBlock* block, u32 epoch, u32 what, const MemoryRecord& record);

// Remembers a range that is not recorded, so that ends pair up with their begins.
void skip_range(ThreadBlock* block, const void* key);

// Ends the innermost open range with this key at `ticks`. Ranges that were opened inside it and never ended are
// closed with it. False if it is not open on this thread.
bool end_range(ThreadBlock* block, const void* key, u64 ticks);

// Id of a string in the recording, 0 if there was no room. By pointer, then content.
u32 intern(ThreadBlock* block, const char* text);

// Ranges that may end on another thread than they began on (torch's asynchronous ones).
void begin_async(const void* key, RecordRef ref, u32 epoch);
bool end_async(ThreadBlock* block, const void* key, u64 ticks);
RecordRef ref_of(const ThreadBlock* block, const RangeRecord* record);

// Waits (up to `timeout_ns`) until no thread is still writing into a chunk of another epoch than `epoch`.
bool quiesce(u32 epoch, u64 timeout_ns);

// In a forked child.
void reset_recorder_in_child();

}  // namespace tprof
