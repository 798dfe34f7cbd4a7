#include "collect/torch/backward.h"

#include "collect/recorder/thread.h"
#include "collect/session/session.h"
#include "collect/steps/labels.h"
#include "collect/torch/attach.h"

namespace tprof {

std::atomic<u32> g_backward_thread{0};
std::atomic<bool (*)()> g_optimizers_made{nullptr};

namespace {

u32 g_depth;  // nested calls on the thread that announced the pass

}  // namespace

void backward_begins(bool creates_graph) {
  ThreadBlock* block = enter();
  if (!block) return;
  u32 running = 0;
  bool outermost = g_backward_thread.compare_exchange_strong(running, block->tid);
  if (!outermost && running == block->tid) g_depth++;
  if (outermost) {
    g_depth = 1;
    g_session.backward_announced();
    g_session.token(block, Evidence::backward, [=](StepDetector& d) {
      d.creates_graph(creates_graph);
      d.backward_begins(before_labels(d, block, now_ticks()));
    });
    g_session.promote();
  }
  leave(block);
}

void backward_returns() {
  ThreadBlock* block = enter();
  if (!block) return;
  if (g_backward_thread.load(std::memory_order_relaxed) == block->tid && --g_depth == 0) {
    g_backward_thread.store(0);
    g_session.token(block, Evidence::backward, [](StepDetector& d) { d.backward_ends(now_ticks()); });
  }
  leave(block);
}

void backward_forget() { g_backward_thread.store(0); }

void backward_node_comes() {
  if (backward_is_announced() || g_session.steps_are_settled() || inside_tprof()) return;
  auto look = g_optimizers_made.load(std::memory_order_acquire);
  if (!look) return;
  bool made = look();
  ThreadBlock* block = enter();
  if (!block) return;
  g_session.token(nullptr, Evidence::none, [=](StepDetector& d) { d.optimizers_exist(made); });
  leave(block);
}

void backward_node(const void* rf) {
  if (backward_is_announced()) return;
  g_session.backward_unannounced();
  if (!g_session.wants_backward()) return;
  i64 sequence = g_torch.sequence >= 0 ? load<i64>(rf, g_torch.sequence) : -1;
  bool creates_graph = torch_grad_enabled();
  g_session.token(nullptr, Evidence::none, [=](StepDetector& d) {
    d.creates_graph(creates_graph);
    d.backward_node(now_ticks(), sequence);
  });
  g_session.promote();
}

}  // namespace tprof
