#include "collect/torch/ops.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/step_pattern.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/inputs.h"

namespace tprof {
namespace {

// User ranges that say something about steps.
enum class Mark : u8 { none, profiler_step, optimizer_step, zero_grad, dataloader, matched };

constexpr struct {
  const char* prefix;
  Mark mark;
} kMarks[] = {{"ProfilerStep#", Mark::profiler_step},
              {"Optimizer.step#", Mark::optimizer_step},
              {"Optimizer.zero_grad#", Mark::zero_grad},
              {"enumerate(DataLoader)#", Mark::dataloader}};

Mark mark_of(const char* name) {
  for (const auto& m : kMarks)
    if (!strncmp(name, m.prefix, strlen(m.prefix))) return m.mark;
  return step_pattern_is(StepMode::range) && step_pattern_matches(name) ? Mark::matched : Mark::none;
}

// What every range needs, together: a copy of what g_torch knows.
struct alignas(64) Hot {
  const char* (*name)(const void* record_function);
  i32 scope, sequence, forward_thread, async;  // offsets, -1 unknown
  bool reads_inputs;
} g_hot;

Scope scope_of(const void* rf) { return g_hot.scope >= 0 ? load<Scope>(rf, g_hot.scope) : Scope::function; }

void mark_begins(ThreadBlock* block, Mark mark) {
  u64 t = now_ticks();
  u32 tid = block->tid;
  bool anchors = mark == Mark::optimizer_step || mark == Mark::dataloader || mark == Mark::profiler_step;
  g_session.token(tid, anchors, [=](StepDetector& d) {
    switch (mark) {
      case Mark::profiler_step: return d.profiler_step_begins(t);
      case Mark::optimizer_step: return d.optimizer_begins(t);
      case Mark::zero_grad: return d.zero_grad_begins(t);
      case Mark::dataloader: return d.load_begins(before_labels(d, block, t));
      case Mark::matched: return d.range_matched(t);
      case Mark::none: return;
    }
  });
}

// The edge comes a little behind the range's end, so that the range lies inside its step.
void mark_ends(u32 tid, Mark mark) {
  u64 t = now_ticks();
  if (mark != Mark::profiler_step && mark != Mark::optimizer_step && mark != Mark::zero_grad) return;
  g_session.token(tid, mark != Mark::zero_grad, [=](StepDetector& d) {
    if (mark == Mark::profiler_step) return d.profiler_step_ends(t);
    if (mark == Mark::optimizer_step) return d.optimizer_ends(t);
    d.zero_grad_ends(t);
  });
  if (mark == Mark::optimizer_step) g_session.promote();
}

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
  if (scope != Scope::user) return backward_node(rf);
  if (Mark mark = mark_of(name); mark != Mark::none)
    mark_begins(block, mark);
  else
    label_begins(block, now_ticks());
}

__attribute__((noinline)) void tell_steps_end(ThreadBlock* block, const void* rf) {
  if (Mark mark = mark_of(g_hot.name(rf)); mark != Mark::none)
    mark_ends(block->tid, mark);
  else
    label_ends(block);
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
           reads_inputs};
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
  if (scope_of(rf) == Scope::user) tell_steps_end(block, rf);
  leave(block);
}

}  // namespace tprof
