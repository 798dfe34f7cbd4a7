#include "collect/start/profiler_range.h"

#include "collect/recorder/thread.h"
#include "collect/session/session.h"
#include "collect/start/attach.h"

namespace tprof {

// A start inside a window and a stop outside of one change nothing, as in CUDA itself.
void Session::profiler_range(bool start) {
  if (!live() || !started_ || !options_.window.profiler_api) return;
  if (start) promote(false);
  SpinGuard guard(lock_);
  if (!live() || role_ == Role::helper) return;
  i64 limit = options_.window.limit;
  if (start && !armed_ && (limit == 0 || profiler_windows_ < limit)) {
    start_by_hand();
  } else if (!start && armed_) {
    stop_by_hand();
    if (++profiler_windows_ == limit) apply_plan({Phase::ended, -1}, -1, now_ticks());
  }
}

void cuda_profiler_range(bool start) {
  cuda_attach();
  ThreadBlock* block = g_session.attached() ? enter() : nullptr;
  if (!block) return;
  g_session.profiler_range(start);
  leave(block);
}

}  // namespace tprof
