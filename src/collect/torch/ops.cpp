#include "collect/torch/ops.h"

#include "collect/python/frames.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/inputs.h"
#include "collect/torch/marks.h"

namespace tprof {
namespace {

// What every range needs, together: a copy of what g_torch knows.
struct alignas(64) Hot {
  const char* (*name)(const void* record_function);
  i32 scope, sequence, forward_thread, async;  // offsets, -1 unknown
  bool reads_inputs, takes_stack;
} g_hot;

Scope scope_of(const void* rf) { return g_hot.scope >= 0 ? load<Scope>(rf, g_hot.scope) : Scope::function; }

__attribute__((noinline)) void open_async(ThreadBlock* block, u32 epoch, const void* rf, const RangeRecord* record) {
  block->open_count--;
  begin_async(rf, ref_of(block, record), epoch);
}

__attribute__((always_inline)) inline void record_begin(ThreadBlock* block, u32 epoch, const void* rf, Scope scope,
                                                        const char* name) {
  if (__builtin_expect(!block->torch_thread, 0)) learn_thread(block);
  RangeSlot slot = begin_range(block, epoch, rf);
  if (__builtin_expect(!slot.record, 0)) return;
  u8 flags = 0;
  u16 inputs = 0;
  char* tail = slot.tail;
  i64 sequence = g_hot.sequence >= 0 ? load<i64>(rf, g_hot.sequence) : -1;
  u64 forward_thread = g_hot.forward_thread >= 0 ? load<u64>(rf, g_hot.forward_thread) : 0;
  if (forward_thread || sequence != i32(sequence)) {
    *reinterpret_cast<RangeLink*>(tail) = {sequence, forward_thread};
    tail += sizeof(RangeLink);
    flags |= kRangeLinked;
  }
  if (u32 stack = g_hot.takes_stack ? python_stack(block) : 0) {
    *reinterpret_cast<StackRef*>(tail) = {stack, 0};
    tail += sizeof(StackRef);
    flags |= kRangeStack;
  }
  if (g_hot.reads_inputs) {
    EncodedInputs encoded = encode_inputs(g_torch, rf, tail, kMaxInputBytes);
    tail += encoded.bytes;
    inputs = encoded.count;
    flags |= kRangeHasInputs | (encoded.total > encoded.count ? kRangeInputsCut : 0);
  }
  bool async = g_hot.async >= 0 ? load<bool>(rf, g_hot.async) : g_torch.is_async && g_torch.is_async(rf);
  if (async) flags |= kRangeAsync;
  u32 id = intern(block, name);
  RangeRecord& r = *slot.record;
  r.end_ticks = 0;
  r.scope = u8(scope);
  r.flags = flags;
  r.inputs = inputs;
  r.sequence = i32(sequence);
  r.begin_ticks = now_ticks();  // last: our own work stays outside of the range
  commit_range(block, slot, id, u32(tail - slot.tail));
  if (__builtin_expect(async, 0)) open_async(block, epoch, rf, slot.record);
}

// What a user range or a backward node says about steps, before it is recorded.
__attribute__((noinline)) void tell_steps(ThreadBlock* block, const void* rf, Scope scope, const char* name) {
  if (scope == Scope::user)
    user_range_begins(block, rf, name);
  else
    backward_node(rf);
}

__attribute__((noinline)) void refused() {
  if (recording_epoch() != kNoEpoch) g_writer.drop(Drop::reentered);
}

}  // namespace

void learn_thread(ThreadBlock* block) {
  if (g_torch.current_thread_id) block->torch_thread = g_torch.current_thread_id();
}

void ops_prepare(bool reads_inputs) {
  g_hot = {g_torch.name,
           g_torch.scope,
           g_torch.sequence_ok ? g_torch.sequence : -1,
           g_torch.forward_thread_ok ? g_torch.forward_thread : -1,
           g_torch.is_async_at,
           reads_inputs,
           g_session.options().with_stack.has(kStackOperators)};
}

ObserverContext range_starts(const void* rf) {
  ObserverContext no_context;
  ThreadBlock* block = enter();
  if (__builtin_expect(!block, 0)) {
    refused();
    return no_context;
  }
  Scope scope = scope_of(rf);
  const char* name = g_hot.name(rf);
  if (g_session.is_helper()) g_session.follow(now_ticks());
  if (scope == Scope::user || scope == Scope::backward) tell_steps(block, rf, scope, name);
  u32 epoch = recording_epoch();
  if (epoch != kNoEpoch) record_begin(block, epoch, rf, scope, name);
  leave(block);
  return no_context;
}

void range_ends(const void* rf, void*) {
  u64 t = now_ticks();
  ThreadBlock* block = enter();
  if (!block) return;
  if (!end_range(block, rf, t)) end_async(block, rf, t);
  if (scope_of(rf) == Scope::user) user_range_ends(block, rf, g_hot.name(rf));
  leave(block);
}

}  // namespace tprof
