#include "collect/torch/ops.h"

#include <regex.h>
#include <string.h>

#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/torch/attach.h"
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

bool g_reads_inputs;

regex_t g_pattern;
bool g_has_pattern;

Mark mark_of(const char* name) {
  for (const auto& m : kMarks)
    if (!strncmp(name, m.prefix, strlen(m.prefix))) return m.mark;
  return g_has_pattern && regexec(&g_pattern, name, 0, nullptr, 0) == 0 ? Mark::matched : Mark::none;
}

Scope scope_of(const void* rf) {
  return g_torch.scope >= 0 ? static_cast<Scope>(load<u8>(rf, g_torch.scope)) : Scope::function;
}

void mark_begins(ThreadBlock* block, Mark mark) {
  u64 t = now_ticks();
  u32 tid = block->tid;
  bool anchors = mark == Mark::optimizer_step || mark == Mark::dataloader || mark == Mark::profiler_step;
  g_session.token(tid, anchors, [=](StepDetector& d) {
    switch (mark) {
      case Mark::profiler_step: return d.profiler_step_begins(t);
      case Mark::optimizer_step: return d.optimizer_begins(t);
      case Mark::zero_grad: return d.zero_grad_begins(t);
      case Mark::dataloader: return d.load_begins(d.before_labels(t, block->label_begins, labels_of(block)));
      case Mark::matched: return d.range_matched(t);
      case Mark::none: return;
    }
  });
}

void label_begins(ThreadBlock* block) {
  u32 at = block->label_count++;
  if (at < kMaxLabels) block->label_begins[at] = now_ticks();
}

void label_ends(ThreadBlock* block) {
  if (block->label_count == 0) return;
  u32 at = --block->label_count;
  if (at >= kMaxLabels || !g_session.edge_may_move()) return;
  u64 begin = block->label_begins[at];
  g_session.token(block->tid, false, [=](StepDetector& d) { d.label_ends(now_ticks(), begin); });
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

void backward_begins(const void* rf) {
  if (!g_session.wants_backward()) return;
  i64 sequence = g_torch.sequence >= 0 ? load<i64>(rf, g_torch.sequence) : -1;
  g_session.token(0, false, [=](StepDetector& d) { d.backward_node(now_ticks(), sequence); });
  g_session.promote();
}

void record_begin(ThreadBlock* block, u32 epoch, const void* rf, Scope scope, const char* name) {
  if (__builtin_expect(!block->torch_thread, 0) && g_torch.current_thread_id)
    block->torch_thread = g_torch.current_thread_id();
  RangeSlot slot = begin_range(block, epoch, rf);
  if (!slot.record) return;
  RangeRecord& r = *slot.record;
  r.end_ticks = 0;
  i64 sequence = g_torch.sequence_ok ? load<i64>(rf, g_torch.sequence) : -1;
  u64 forward_thread = g_torch.forward_thread_ok ? load<u64>(rf, g_torch.forward_thread) : 0;
  u8 flags = 0;
  char* tail = slot.tail;
  if (forward_thread || sequence != i32(sequence)) {
    *reinterpret_cast<RangeLink*>(tail) = {sequence, forward_thread};
    tail += sizeof(RangeLink);
    flags |= kRangeLinked;
  }
  EncodedInputs inputs;
  if (g_reads_inputs) {
    inputs = encode_inputs(g_torch, rf, tail, kMaxInputBytes);
    tail += inputs.bytes;
    flags |= kRangeHasInputs;
    if (inputs.total > inputs.count) flags |= kRangeInputsCut;
  }
  r.inputs = inputs.count;
  r.sequence = i32(sequence);
  r.scope = u8(scope);
  u32 id = intern(block, name);
  bool async = g_torch.is_async_at >= 0 ? load<u8>(rf, g_torch.is_async_at) : g_torch.is_async && g_torch.is_async(rf);
  if (async) flags |= kRangeAsync;
  r.flags = flags;
  r.begin_ticks = now_ticks();  // last: our own work stays outside of the range
  commit_range(block, slot, id, u32(tail - slot.tail));
  if (async) {
    block->open_count--;
    begin_async(rf, ref_of(block, slot.record), epoch);
  }
}

}  // namespace

void set_reads_inputs(bool on) { g_reads_inputs = on; }

void set_step_pattern(const char* pattern) {
  g_has_pattern = regcomp(&g_pattern, pattern, REG_EXTENDED | REG_NOSUB) == 0;
}

ObserverContext range_starts(const void* rf) {
  ObserverContext no_context;
  ThreadBlock* block = enter();
  if (!block) {
    if (recording_epoch() != kNoEpoch) g_writer.drop(Drop::reentered);
    return no_context;
  }
  Scope scope = scope_of(rf);
  const char* name = g_torch.name(rf);
  if (g_session.is_helper()) g_session.follow(now_ticks());
  if (scope == Scope::user) {
    if (Mark mark = mark_of(name); mark != Mark::none)
      mark_begins(block, mark);
    else
      label_begins(block);
  } else if (scope == Scope::backward) {
    backward_begins(rf);
  }
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
  if (scope_of(rf) == Scope::user) {
    if (Mark mark = mark_of(g_torch.name(rf)); mark != Mark::none)
      mark_ends(block->tid, mark);
    else
      label_ends(block);
  }
  leave(block);
}

}  // namespace tprof
