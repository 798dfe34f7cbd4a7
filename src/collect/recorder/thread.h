// What tprof keeps per thread, and how every hook is entered and left.
//
// A hook does: ThreadBlock* b = enter(); if (!b) return; ... leave(b);. enter() refuses when this thread is already
// inside tprof (our own work, a signal handler) or is past its end. `busy` is set while inside, so the helper thread
// can see when nobody writes to the chunks of a past epoch any more (see quiesce in recorder.h).
//
// A thread that blocks SIGBUS would be killed if its recording were shortened, so its hooks unblock that signal while
// they are inside. Whether it does is looked at when its block is made and with each chunk that it takes, and from then
// on in each hook.
#pragma once
#include <stddef.h>

#include <atomic>

#include "record/record.h"

namespace tprof {

constexpr u32 kNoEpoch = 0xffffffff;

// ThreadBlock::busy
constexpr u32 kInside = 1;     // in a hook
constexpr u32 kBlocksBus = 2;  // the thread blocks SIGBUS, except in hooks

constexpr u32 kMaxOpen = 1024;     // open ranges followed per thread
constexpr u32 kMaxPushed = 256;    // open ranges of NVTX's push, per thread
constexpr u32 kMaxCalls = 1024;    // open Python calls, per thread
constexpr u32 kNameCacheBits = 9;  // 512 names
constexpr u32 kKnownTextBits = 8;
constexpr u32 kKnownSchemaBits = 9;
constexpr u32 kMaxFrames = 256;  // of a Python stack, the innermost; further ones are cut
constexpr u32 kKnownFrameBits = 8;
constexpr u32 kMaxLabels = 16;  // open labels whose begin is remembered

struct OpenRange {
  const void* key;  // the at::RecordFunction, or what else identifies the range
  u64* end_ticks;   // of its record; valid while the block's chunk is the one in `ref`
  RecordRef ref;
  u32 epoch;  // kNoEpoch: seen but not recorded
};

// One cache line. Longer names are looked up each time.
struct alignas(64) CachedName {
  const char* text;  // where the name was seen
  u32 id;            // in the recording
  u32 bytes;         // of copy that are used, with the final NUL
  char copy[48];
};

// Two cache lines: a name that is found by its content, since a text composed for one call may be anywhere. Longer
// texts are not cached. The slots of this and the next cache form pairs: of the names that hash to a pair, the last two
// are kept, the newer first.
struct alignas(64) KnownText {
  u32 id;     // in the recording
  u32 bytes;  // 0: empty
  char text[120];
};
// A name that is found by the address of its operator's schema. Only for torch's own operators, whose schemas never go.
struct KnownSchema {
  const void* schema;
  u32 id;
};

struct NativeThread;  // see native.cpp

// The Python stack of a thread at its last walk, outermost frame first. See collect/interpreter/frames.cpp.
struct WalkedFrame {
  const void* code;  // these two as they are in memory, see RawFrame
  u64 at;
  u32 node;  // in the tree of stacks
};
// The node of a frame that was met below this caller before.
struct KnownFrame {
  const void* code;
  u64 at;
  u32 caller, node;  // in the tree of stacks
  u32 version;       // valid while equal to WalkedStack::version
};
// The Python stack at the start of an operator. If its at::RecordFunction is on the C stack, no frame of it continues
// before the operator ends, so everything that the same frame calls until then has the same stack.
struct OperatorStack {
  RecordRef range;
  const void* frame;  // the innermost; nullptr: the at::RecordFunction may be elsewhere
  u32 node;
};
struct WalkedStack {
  u32 count;
  u32 generation;   // of the recording
  u64 codes_ended;  // code objects that had ended by then
  u32 version;      // grows when one of the fields above changes, which makes `known` void
  bool cut;         // there were more frames
  WalkedFrame frames[kMaxFrames];
  KnownFrame known[1 << kKnownFrameBits];
  OperatorStack operators[kMaxOpen];  // by index of the open range
};

// The offsets in an at::RecordFunction that the quick path for ranges needs, see torch/ops.cpp.
struct QuickLayout {
  u16 scope, sequence, forward_thread, async, named, name_at, name_bytes;
};

struct alignas(64) ThreadBlock {
  // All that an operator needs, in one cache line.
  std::atomic<u32> busy;
  u32 used;  // bytes of chunk filled
  ChunkHeader* chunk;
  u32 chunk_index;  // of chunk
  u32 epoch;        // of chunk; kNoEpoch: a thread that has ended left it
  u32 open_count;
  u32 quick_until;    // while `used` is below it, a range may take the quick path
  QuickLayout quick;  // set where quick_until is not 0

  std::atomic<u32> in_use;
  u32 tid;
  u32 announced;     // 1: this thread's ThreadRecord is written
  u64 torch_thread;  // torch's logical id of this thread, 0 until queried
  u32 pushed_count;
  u32 call_count;    // entries of `calls` in use
  u32 calls_beyond;  // open Python calls that there was no room for
  u32 calls_round;   // which round of watching `calls` belongs to, see python/calls.h
  u32 generation;    // of the recording that the caches belong to
  u32 left_epoch;    // of chunk, which a thread that has ended left. The chunk itself may be in use again
  u32 label_count;   // labels open now, see labels.h
  u64 label_begins[kMaxLabels];
  std::atomic<u32> in_module;  // 1: inside an outermost call of an nn.Module
  u32 native_known;            // 1: `native` knows this thread's stack
  NativeThread* native;        // nullptr until it is wanted; stays with the block
  ThreadBlock* next;
  alignas(64) OpenRange open[kMaxOpen];  // each within a cache line
  OpenRange pushed[kMaxPushed];          // NVTX's, which need not nest with the others
  OpenRange calls[kMaxCalls];            // of Python functions, from the outermost
  CachedName names[1 << kNameCacheBits];
  KnownText texts[1 << kKnownTextBits];
  KnownSchema schemas[1 << kKnownSchemaBits];
  WalkedStack walked;
};

static_assert(offsetof(ThreadBlock, in_use) <= 64);

struct ThreadSelf {
  ThreadBlock* block;
  u8 inside;  // a thread of ours, or one whose block is being made; nothing that it does is an event
  u8 own;     // a thread of ours
  u8 dead;
  u8 end_rounds;
  u8 calls;  // APIs (CallApi bits) of which a call is being recorded on this thread
};
extern __thread ThreadSelf t_self __attribute__((tls_model("initial-exec")));

// All blocks ever made, newest first; blocks are reused, never freed.
extern std::atomic<ThreadBlock*> g_thread_blocks;

// Once, before the first enter(). False if no thread key is left.
bool init_threads();
// In a forked child: this thread is the only one, and owns nothing yet.
void reset_threads_in_child();

// The calling thread's block, made at its first event; nullptr if it must not have one.
ThreadBlock* first_block();
u32 current_tid();

// The framework's id of the calling thread, which the thread's first record announces. nullptr: there is no framework,
// or it has no such ids. Set before anything is recorded.
extern u64 (*g_framework_thread_id)();
void learn_thread(ThreadBlock* block);  // asks for it

// The name that the program gave to one of its threads; nullptr: none.
void give_thread_name(u32 tid, const char* name);
const char* given_thread_name(u32 tid);

// A thread of the program's that blocks SIGBUS.
ThreadBlock* enter_slowly(ThreadBlock* block);  // nullptr: it is inside already
void leave_slowly(ThreadBlock* block);
// The thread, which is inside, takes a chunk.
void note_if_bus_is_blocked(ThreadBlock* block);

// Enters with the calling thread's block, whose `busy` is 0. Until leave_known() it may take no chunk.
inline void enter_known(ThreadBlock* block) {
  block->busy.store(kInside, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

__attribute__((always_inline)) inline ThreadBlock* enter() {
  ThreadBlock* block = t_self.block;
  if (__builtin_expect(!block, 0) && !(block = first_block())) return nullptr;
  if (__builtin_expect(block->busy.load(std::memory_order_relaxed), 0)) return enter_slowly(block);
  enter_known(block);
  return block;
}

inline void leave_known(ThreadBlock* block) { block->busy.store(0, std::memory_order_release); }
inline void leave(ThreadBlock* block) {
  if (__builtin_expect(block->busy.load(std::memory_order_relaxed) == kInside, 1)) return leave_known(block);
  leave_slowly(block);
}

inline bool is_inside(const ThreadBlock* block) { return block->busy.load(std::memory_order_acquire) & kInside; }

// Whether this thread is in our code right now: true in a signal handler that interrupted it.
inline bool inside_tprof() {
  const ThreadSelf& self = t_self;
  return self.inside || (self.block && is_inside(self.block));
}

}  // namespace tprof
