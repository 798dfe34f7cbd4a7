#include "collect/torch/ops.h"

#include <stddef.h>

#include <initializer_list>

#include "collect/interpreter/frames.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/inputs.h"
#include "collect/torch/marks.h"

namespace tprof {
namespace {

// A copy of the layout in g_torch, with -1 for what is not proven. Filled in once, before the first callback is
// registered: threads read it at any time.
struct Known {
  const char* (*name)(const void* record_function);
  i32 scope, sequence, forward_thread, async;
  i32 named, name_at, name_bytes;
  bool reads_inputs, takes_stack;
  bool all;           // all offsets are proven, and ticks are counted
  QuickLayout quick;  // if all
} g_known;

Scope scope_of(const void* rf) { return g_known.scope >= 0 ? load<Scope>(rf, g_known.scope) : Scope::function; }

KnownSchema* schema_pair(ThreadBlock* block, const void* schema) {
  u64 spread = reinterpret_cast<uintptr_t>(schema) * 0x9e3779b97f4a7c15ull;
  return block->schemas + 2 * (spread >> (65 - kKnownSchemaBits));
}

// 0: not in the cache.
u32 known_schema(const KnownSchema* pair, const void* schema) {
  return pair->schema == schema ? pair->id : pair[1].schema == schema ? pair[1].id : 0;
}

// Operators of torch itself stay registered. Others may be unloaded, and another schema may get their schema's address.
u32 intern_schema(ThreadBlock* block, const void* rf, const void* schema) {
  KnownSchema* pair = schema_pair(block, schema);
  if (u32 id = known_schema(pair, schema)) return id;
  const char* name = g_known.name(rf);
  u32 id = intern_bytes(name, length_of(name, kLongestName));
  if (id && !strncmp(name, "aten::", 6)) {
    pair[1] = pair[0];
    pair[0] = {schema, id};
  }
  return id;
}

u32 name_of(ThreadBlock* block, const void* rf) {
  if (g_known.named < 0) return intern(block, g_known.name(rf));
  if (load<u8>(rf, g_known.named) == kNamedBySchema)
    return intern_schema(block, rf, load<const void*>(rf, g_known.name_at));
  auto* text = load<const char*>(rf, g_known.name_at);
  return intern_text(block, text, g_known.name_bytes >= 0 ? load<u64>(rf, g_known.name_bytes) : strlen(text));
}

__attribute__((noinline)) u32 known_by_text(ThreadBlock* block, const void* rf, const char* text) {
  u64 bytes = load<u64>(rf, block->quick.name_bytes);
  return known_text(text_pair(block, text, bytes), text, bytes);
}

// 0: not in a cache.
inline u32 known_name(ThreadBlock* block, const void* rf) {
  auto* at = load<const char*>(rf, block->quick.name_at);
  bool by_schema = load<u8>(rf, block->quick.named) == kNamedBySchema;
  return __builtin_expect(by_schema, 1) ? known_schema(schema_pair(block, at), at) : known_by_text(block, rf, at);
}

void open_async(ThreadBlock* block, u32 epoch, const void* rf, const RangeRecord* record) {
  block->open_count--;
  begin_async(rf, ref_of(block, record), epoch);
}

// What follows a RangeRecord, and the fields of the record that describe it.
struct Tail {
  char* at;
  u8 flags = 0;
  u16 inputs = 0;
};

inline void add_link(Tail& tail, i64 sequence, u64 forward_thread) {
  *reinterpret_cast<RangeLink*>(tail.at) = {sequence, forward_thread};
  tail.at += sizeof(RangeLink);
  tail.flags |= kRangeLinked;
}

// Adds the stack and the inputs, if they are wanted.
__attribute__((always_inline)) inline void add_stack_and_inputs(ThreadBlock* block, Tail& tail, const void* rf) {
  if (u32 stack = g_known.takes_stack ? python_stack(block, rf) : 0) {
    *reinterpret_cast<StackRef*>(tail.at) = {stack, 0};
    tail.at += sizeof(StackRef);
    tail.flags |= kRangeStack;
  }
  if (!g_known.reads_inputs) return;
  EncodedInputs encoded = encode_inputs(g_torch, rf, tail.at, kMaxInputBytes);
  tail.at += encoded.bytes;
  tail.inputs = encoded.count;
  tail.flags |= kRangeHasInputs | (encoded.total > encoded.count ? kRangeInputsCut : 0);
}

// Takes the start time last, so that tprof's own work stays outside of the range.
template <u64 (*kStamp)() = now_ticks>
__attribute__((always_inline)) inline void finish_begin(ThreadBlock* block, const RangeSlot& slot, u32 name,
                                                        Scope scope, i64 sequence, const Tail& tail) {
  RangeRecord& r = *slot.record;
  r.end_ticks = 0;
  // These fields are neighbours: one store writes them all.
  static_assert(offsetof(RangeRecord, scope) == 24 && offsetof(RangeRecord, flags) == 25 &&
                offsetof(RangeRecord, inputs) == 26 && offsetof(RangeRecord, sequence) == 28);
  u64 rest = u64(scope) | u64(tail.flags) << 8 | u64(tail.inputs) << 16 | u64(sequence) << 32;
  memcpy(reinterpret_cast<char*>(&r) + offsetof(RangeRecord, scope), &rest, sizeof rest);
  r.begin_ticks = kStamp();
  commit_range(block, slot, name, u32(tail.at - slot.tail));
}

void record_begin(ThreadBlock* block, u32 epoch, const void* rf, Scope scope, bool with_extras) {
  if (!block->torch_thread) learn_thread(block);
  RangeSlot slot = begin_range(block, epoch, rf);
  if (!slot.record) return;
  block->quick_until = g_known.all && block->torch_thread ? kChunkBytes - kLargestRange : 0;
  block->quick = g_known.quick;
  Tail tail{slot.tail};
  i64 sequence = g_known.sequence >= 0 ? load<i64>(rf, g_known.sequence) : -1;
  u64 forward_thread = g_known.forward_thread >= 0 ? load<u64>(rf, g_known.forward_thread) : 0;
  if (forward_thread || sequence != i32(sequence)) add_link(tail, sequence, forward_thread);
  if (with_extras) add_stack_and_inputs(block, tail, rf);
  bool async = g_known.async >= 0 ? load<bool>(rf, g_known.async) : g_torch.is_async && g_torch.is_async(rf);
  if (async) tail.flags |= kRangeAsync;
  finish_begin(block, slot, name_of(block, rf), scope, sequence, tail);
  if (async) open_async(block, epoch, rf, slot.record);
}

// Reports a user range or a backward node as a possible sign of a step, before it is recorded.
void report_to_steps(ThreadBlock* block, const void* rf, Scope scope, u64 optimizer) {
  if (scope == Scope::user)
    user_range_begins(block, g_known.name(rf), optimizer);
  else
    backward_node(rf);
}

__attribute__((noinline)) void range_starts_slowly(const void* rf, bool with_extras) {
  Scope scope = scope_of(rf);
  u64 optimizer = scope == Scope::user ? optimizer_of_range(g_known.name(rf)) : 0;
  if (scope == Scope::backward) backward_node_comes();
  ThreadBlock* block = enter();
  if (!block) {
    if (recording_epoch() != kNoEpoch) g_writer.drop(Drop::reentered);
    return;
  }
  if (follows_leader()) g_session.follow(now_ticks());
  if (scope == Scope::user || scope == Scope::backward) report_to_steps(block, rf, scope, optimizer);
  u32 epoch = recording_epoch();
  if (epoch != kNoEpoch) record_begin(block, epoch, rf, scope, with_extras);
  leave(block);
}

__attribute__((noinline)) void range_ends_slowly(const void* rf, u64 t) {
  ThreadBlock* block = enter();
  if (!block) return;
  if (!end_range(block, rf, t)) end_async(block, rf, t);
  if (scope_of(rf) == Scope::user) user_range_ends(block, g_known.name(rf));
  leave(block);
}

// The quick path, for nearly all ranges: an operator, or a node of an announced backward pass, for which nothing has to
// be looked up or reported. It is short and straight because the caches hold torch's code and not ours when it starts.
// False: range_starts_slowly must do it.
template <bool kWithExtras>
__attribute__((always_inline)) inline bool starts_quickly(ThreadBlock* block, const void* rf) {
  u32 epoch = recording_epoch();
  Scope scope = load<Scope>(rf, block->quick.scope);
  if (block->epoch != epoch || block->used >= block->quick_until || block->open_count == kMaxOpen || follows_leader() ||
      (scope != Scope::function && !(scope == Scope::backward && backward_is_announced())))
    return false;
  i64 sequence = load<i64>(rf, block->quick.sequence);
  if (load<bool>(rf, block->quick.async) || sequence != i32(sequence)) return false;
  u32 name = known_name(block, rf);
  if (!name) return false;
  char* at = reinterpret_cast<char*>(block->chunk) + block->used;
  will_write(at + kWrittenAhead);
  RangeSlot slot = open_range(block, at, epoch, rf);
  Tail tail{slot.tail};
  if (u64 forward_thread = load<u64>(rf, block->quick.forward_thread)) add_link(tail, sequence, forward_thread);
  if (kWithExtras) add_stack_and_inputs(block, tail, rf);
  finish_begin<counter_ticks>(block, slot, name, scope, sequence, tail);
  return true;
}

__attribute__((always_inline)) inline bool ends_quickly(ThreadBlock* block, const void* rf, u64 t) {
  u32 epoch = recording_epoch(), count = block->open_count;
  if (count == 0 || block->epoch != epoch || load<Scope>(rf, block->quick.scope) == Scope::user) return false;
  const OpenRange& range = block->open[count - 1];
  if (range.key != rf || range.epoch != epoch || range.ref >> 32 != block->chunk_index) return false;
  block->open_count = count - 1;
  *range.end_ticks = t;
  return true;
}

ThreadBlock* enter_if_idle() {
  ThreadBlock* block = t_self.block;
  if (__builtin_expect(!block || block->busy.load(std::memory_order_relaxed), 0)) return nullptr;
  enter_known(block);
  return block;
}

template <bool kWithExtras>
ObserverContext range_starts(const void* rf) {
  ThreadBlock* block = enter_if_idle();
  bool done = block && starts_quickly<kWithExtras>(block, rf);
  if (block) leave_known(block);
  if (__builtin_expect(!done, 0)) range_starts_slowly(rf, kWithExtras);
  return {};
}

void learn(Known& k) {
  k = {g_torch.name,
       g_torch.scope,
       g_torch.sequence_ok ? g_torch.sequence : -1,
       g_torch.forward_thread_ok ? g_torch.forward_thread : -1,
       g_torch.is_async_at,
       g_torch.name_ok ? g_torch.named : -1,
       g_torch.name_at,
       g_torch.name_bytes,
       ops_read_inputs(),
       g_session.options().with_stack.has(kStackOperators)};
  k.all = ticks_are_counted();
  for (i32 offset : {k.scope, k.sequence, k.forward_thread, k.async, k.named, k.name_at, k.name_bytes})
    k.all = k.all && offset == i32(u16(offset));
  k.quick = {u16(k.scope), u16(k.sequence), u16(k.forward_thread), u16(k.async),
             u16(k.named), u16(k.name_at),  u16(k.name_bytes)};
}

}  // namespace

bool ops_read_inputs() { return g_session.options().record_shapes && g_torch.inputs_ok; }

RangeStarts* ops_start(bool records) {
  static bool known = false;
  if (!known) learn(g_known);
  known = true;
  return records && (g_known.reads_inputs || g_known.takes_stack) ? range_starts<true> : range_starts<false>;
}

void range_ends(const void* rf, void*) {
  ThreadBlock* block = t_self.block;
  if (__builtin_expect(!block || !block->quick_until, 0)) return range_ends_slowly(rf, now_ticks());
  u64 t = counter_ticks();
  if (__builtin_expect(!block->busy.load(std::memory_order_relaxed), 1)) {
    enter_known(block);
    bool done = ends_quickly(block, rf, t);
    leave_known(block);
    if (__builtin_expect(done, 1)) return;
  }
  range_ends_slowly(rf, t);
}

}  // namespace tprof
