#include "collect/torch/marks.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/session.h"
#include "collect/step_pattern.h"

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

}  // namespace

void user_range_begins(ThreadBlock* block, const char* name) {
  Mark mark = mark_of(name);
  if (mark != Mark::none)
    mark_begins(block, mark);
  else
    label_begins(block, now_ticks());
}

void user_range_ends(ThreadBlock* block, const char* name) {
  Mark mark = mark_of(name);
  if (mark != Mark::none)
    mark_ends(block->tid, mark);
  else
    label_ends(block);
}

}  // namespace tprof
