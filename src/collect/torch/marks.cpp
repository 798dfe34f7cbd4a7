#include "collect/torch/marks.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/session.h"
#include "collect/step_pattern.h"

namespace tprof {

std::atomic<bool> g_labels_watched{true};

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
    if (*name == *m.prefix && !strncmp(name, m.prefix, strlen(m.prefix))) return m.mark;
  return step_pattern_is(StepMode::range) && step_pattern_matches(name) ? Mark::matched : Mark::none;
}

void mark_begins(ThreadBlock* block, Mark mark) {
  u64 t = now_ticks();
  bool anchors = mark == Mark::optimizer_step || mark == Mark::dataloader || mark == Mark::profiler_step;
  g_session.token(block->tid, anchors, [=](StepDetector& d) {
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

void tell_begin(ThreadBlock* block, Mark mark) {
  if (mark != Mark::none)
    mark_begins(block, mark);
  else
    label_begins(block, now_ticks());
}

void tell_end(ThreadBlock* block, Mark mark) {
  if (mark != Mark::none)
    mark_ends(block->tid, mark);
  else
    label_ends(block);
}

AnnouncedLabel* newest(ThreadBlock* block) {
  return block->announced_count ? &block->announced_labels[block->announced_count - 1] : nullptr;
}

void forget_label(ThreadBlock* block, u32 at) {
  AnnouncedLabel label = block->announced_labels[at];
  block->announced_count--;
  memmove(block->announced_labels + at, block->announced_labels + at + 1,
          (block->announced_count - at) * sizeof label);
  if (label.told) tell_end(block, Mark(label.mark));
}

}  // namespace

void user_range_begins(ThreadBlock* block, const void* record_function, const char* name) {
  Mark mark = mark_of(name);
  AnnouncedLabel* label = newest(block);
  // A record_function begins with its __enter__: the first range behind the announcement is the one it spoke of.
  bool announced = label && !label->record_function && label->mark == u8(mark);
  if (announced) label->record_function = record_function;
  if (mark != Mark::none && g_labels_watched.load(std::memory_order_relaxed)) g_session.mark_seen(announced);
  if (!announced || !label->told) tell_begin(block, mark);
}

void user_range_ends(ThreadBlock* block, const void* record_function, const char* name) {
  AnnouncedLabel* label = newest(block);
  if (label && label->told && label->record_function == record_function) return;  // Python will tell
  tell_end(block, mark_of(name));
}

bool labels_announced() { return t_self.block && t_self.block->announced_count > 0; }

void label_announced(const void* self, const char* name) {
  ThreadBlock* block = enter();
  if (!block) return;
  Mark mark = mark_of(name);
  bool quiet = g_session.quiet();
  if (block->announced_count == kMaxLabels) forget_label(block, 0);  // never left, or on another thread
  block->announced_labels[block->announced_count++] = {self, nullptr, u8(mark), quiet};
  if (quiet) tell_begin(block, mark);
  leave(block);
}

void label_left(const void* self) {
  ThreadBlock* block = enter();
  if (!block) return;
  for (u32 at = block->announced_count; at-- > 0;)
    if (block->announced_labels[at].self == self) {
      forget_label(block, at);
      break;
    }
  leave(block);
}

}  // namespace tprof
