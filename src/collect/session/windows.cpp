#include "collect/session/windows.h"

#include "base/clock.h"
#include "base/log.h"
#include "collect/recorder/recorder.h"
#include "collect/session/collector.h"
#include "collect/session/helper.h"
#include "record/writer.h"

namespace tprof {
namespace {

bool has_delivered(const WindowRecord* window) {
  for (const Collector* const* collector = kCollectors; *collector; collector++)
    if ((*collector)->has_delivered && !(*collector)->has_delivered(window)) return false;
  return true;
}

}  // namespace

bool Windows::open(i64 number, u64 warmup_ticks) {
  g_writer.add_clock(read_clocks());
  current_ = g_writer.add_window(u32(number), WindowState::warmup, warmup_ticks, current_tid());
  number_ = number;
  next_ = number + 1;
  if (current_) tell_collectors(&Collector::window_opened, current_);
  return current_;
}

bool Windows::mirror(u64 now) {
  number_ = next_++;
  current_ = g_writer.add_window(u32(number_), WindowState::active, 0, current_tid());
  if (current_) current_->begin_ticks = now;
  return current_;
}

void Windows::renumber() {
  number_ = next_++;
  std::atomic_ref<u32>(current_->head.id).store(u32(number_), std::memory_order_release);
}

void Windows::activate(i64 first_step, u64 ticks) {
  current_->begin_ticks = ticks;
  current_->first_step = first_step;
  current_->state.store(u32(WindowState::active), std::memory_order_release);
}

void Windows::end(i64 end_step, u64 ticks) {
  WindowRecord* window = current_;
  current_ = nullptr;
  number_ = -1;
  if (window->begin_ticks == 0) {
    window->state.store(u32(WindowState::discarded), std::memory_order_release);
    tell_collectors(&Collector::window_closed, window);
    g_writer.touch_meta();
    return;
  }
  window->end_ticks = ticks;
  window->end_step = end_step;
  g_writer.add_clock(read_clocks());  // timestamps convert the same way now and after the process's end
  close(window);
}

void Windows::discard() {
  current_->begin_ticks = 0;
  end(-1, 0);
}

// The window's end is final. Where the helper thread is so far behind that the list is full, the window stays as it is,
// and its trace is written at the end of the process, when all that is not sealed is converted.
void Windows::close(WindowRecord* window) {
  window->state.store(u32(WindowState::closing), std::memory_order_release);
  g_writer.touch_meta();
  bool listed = false;
  for (auto& slot : closing_) {
    WindowRecord* empty = nullptr;
    listed = slot.compare_exchange_strong(empty, window);
    if (listed) break;
  }
  if (!listed) g_writer.add_info("window_sealed_late", "its trace is written at the end of the process");
  helper_wake();
  tell_collectors(&Collector::window_ended);
}

bool Windows::seal() {
  bool waits = false;
  for (auto& slot : closing_) {
    WindowRecord* window = slot.load(std::memory_order_acquire);
    if (!window) continue;
    if (!has_delivered(window) || !quiesce(recording_epoch(), 1'000'000'000)) {
      waits = true;
      continue;
    }
    tell_collectors(&Collector::window_closed, window);
    window->state.store(u32(WindowState::sealed), std::memory_order_release);
    g_writer.touch_meta();
    g_writer.header()->unfinished.fetch_add(1, std::memory_order_release);  // last: it starts the finisher
    slot.store(nullptr);
  }
  return waits;
}

void Windows::forget() {
  current_ = nullptr;
  number_ = -1;
  next_ = 0;
  for (auto& slot : closing_) slot.store(nullptr);
}

}  // namespace tprof
