#include "collect/torch/marks.h"

#include <string.h>

#include "collect/session/session.h"
#include "collect/steps/labels.h"
#include "collect/steps/step_pattern.h"
#include "collect/torch/backward.h"

namespace tprof {

std::atomic<u64 (*)()> g_running_optimizer{nullptr};

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

// The thread that the token counts for; nullptr: any. An optimizer that runs inside a backward pass belongs to the pass
// and may run on a thread of torch. Steps that the program states itself count on every thread.
const ThreadBlock* thread_of(const ThreadBlock* block, Mark mark) {
  return mark == Mark::profiler_step || mark == Mark::matched || backward_is_announced() ? nullptr : block;
}

Evidence evidence_of(Mark mark) { return mark == Mark::optimizer_step ? Evidence::update : Evidence::none; }

Mark mark_of(const char* name) {
  for (const auto& m : kMarks)
    if (*name == *m.prefix && !strncmp(name, m.prefix, strlen(m.prefix))) return m.mark;
  return step_pattern_is(StepMode::range) && step_pattern_matches(name) ? Mark::matched : Mark::none;
}

void mark_begins(ThreadBlock* block, Mark mark, u64 optimizer) {
  if (mark == Mark::dataloader) return;  // Python reports draws, with their loader
  u64 t = now_ticks();
  g_session.token(thread_of(block, mark), evidence_of(mark), [=](StepDetector& d) {
    u64 edge = before_labels(d, block, t);
    switch (mark) {
      case Mark::profiler_step: return d.profiler_step_begins(t);
      case Mark::optimizer_step: return d.optimizer_begins(edge, optimizer);
      case Mark::zero_grad: return d.gradients_cleared(edge);
      case Mark::matched: return d.range_matched(t);
      case Mark::dataloader:
      case Mark::none: return;
    }
  });
}

void mark_ends(ThreadBlock* block, Mark mark) {
  if (mark == Mark::dataloader || mark == Mark::zero_grad) return;
  u64 t = now_ticks();
  g_session.token(thread_of(block, mark), evidence_of(mark), [=](StepDetector& d) {
    if (mark == Mark::profiler_step) return d.profiler_step_ends(t);
    if (mark == Mark::matched) return d.range_ended(t);
    d.optimizer_ends(t);
  });
  if (mark == Mark::optimizer_step) g_session.promote();
}

}  // namespace

u64 optimizer_of_range(const char* name) {
  auto running = g_running_optimizer.load(std::memory_order_acquire);
  bool wanted = running && g_session.wants_optimizer() && mark_of(name) == Mark::optimizer_step && !inside_tprof();
  return wanted ? running() : 0;
}

void user_range_begins(ThreadBlock* block, const char* name, u64 optimizer) {
  Mark mark = mark_of(name);
  if (mark != Mark::none)
    mark_begins(block, mark, optimizer);
  else
    label_begins(block, now_ticks());
}

void user_range_ends(ThreadBlock* block, const char* name) {
  Mark mark = mark_of(name);
  if (mark != Mark::none)
    mark_ends(block, mark);
  else
    label_ends(block);
}

}  // namespace tprof
