#include "collect/cuda/gpu_log.h"

#include <stdio.h>

#include "collect/cuda/api_names.h"
#include "collect/cuda/devices.h"
#include "collect/cuda/launches.h"
#include "collect/recorder/recorder.h"

namespace tprof {
namespace {

constexpr u64 kSlack_ns = 20'000'000;
constexpr u64 kLongestWait_ns = 5'000'000'000;
constexpr u64 kDroppedWait_ns = 1'000'000'000;  // where records were dropped: without another one that is waited for
constexpr u32 kLeastFlushes =
    50;                       // during the wait, so that a pause of the machine or of the process does not shorten it
constexpr u32 kWindows = 80;  // more than the session has closing at once
constexpr u32 kPast = 16;

struct Window {
  WindowRecord* record;  // nullptr: free
  ChunkHeader* chunk;
  u32 used;
  u64 begin_ticks, begin_ns;  // as last seen, and on CUPTI's clock
  u64 end_ticks, end_ns;      // 0: open
  u64 closing_ns;             // monotonic; 0: not closing
  u32 flushes;                // since closing_ns
  u32 pending;                // launches without a record, at the latest flush
  u64 pending_since_ns;       // monotonic: when they last became fewer
  u32 polled;                 // by gpu_log_delivered()
  bool delivered;
};

struct Span {
  u64 begin_ns, end_ns;
};

SpinLock g_lock;
Window g_windows[kWindows];
ClockTriple g_early;  // an early pair of ticks and real time, from which ticks are converted
Launches g_launches;
Span g_past[kPast];  // windows that are sealed
u32 g_past_count;
u64 g_dropped_now;  // records that CUPTI dropped while windows wait: their launches are not waited for
std::atomic<bool> g_context_dead{false};
struct {
  u64 zero_time, early, unreadable;
} g_odd, g_odd_noted;

// The recording's ticks on CUPTI's clock.
u64 on_cupti_clock(u64 ticks) {
  ClockTriple now = read_clocks();
  double span = double(i64(now.ticks - g_early.ticks));
  double rate = span > 0 ? double(i64(now.realtime_ns - g_early.realtime_ns)) / span : 1;
  return now.realtime_ns - u64(i64(double(i64(now.ticks - ticks)) * rate));
}

// Reads the edges of the window again: they may move until they are confirmed.
void refresh(Window& w) {
  u64 begin = w.record->begin_ticks, end = w.record->end_ticks;
  if (begin != w.begin_ticks) w.begin_ns = begin ? on_cupti_clock(begin) : 0;
  if (end != w.end_ticks) w.end_ns = end ? on_cupti_clock(end) : 0;
  w.begin_ticks = begin;
  w.end_ticks = end;
  bool closing = w.record->state.load(std::memory_order_acquire) == u32(WindowState::closing);
  if (closing && !w.closing_ns) w.closing_ns = clock_ns(CLOCK_MONOTONIC);
}

bool any_window() {
  for (const Window& w : g_windows)
    if (w.record) return true;
  return false;
}

// `launch_ns`: when the launching call was made, 0: unknown.
bool may_belong(const Window& w, const GpuRecord& r, u64 launch_ns) {
  if (!w.begin_ns) return false;  // warming up
  u64 when = launch_ns ? launch_ns : r.begin_ns;
  if (when == 0) return true;
  if (when + kSlack_ns < w.begin_ns) return false;
  bool host_time = launch_ns || !r.is_work();
  bool ended = w.closing_ns && w.end_ns;  // until then its end may still move
  return !ended || !host_time || when < w.end_ns + kSlack_ns;
}

// Whether the wait for records that have not arrived has timed out.
bool wait_is_over(const Window& w, u64 now) {
  return w.closing_ns && now > w.closing_ns + kLongestWait_ns && w.flushes >= kLeastFlushes;
}

bool in_past(u64 when) {
  for (const Span& s : g_past)
    if (when >= s.begin_ns && when < s.end_ns) return true;
  return false;
}

void append(Window& w, const GpuRecord& r) {
  if (!w.chunk || w.used + r.bytes > kChunkBytes) {
    if (w.chunk) g_writer.retire_chunk(w.chunk, true);
    w.chunk = g_writer.take_chunk(Stream::data, w.record->head.id * 2 + 1, 0);
    w.used = sizeof(ChunkHeader);
  }
  if (!w.chunk) {
    u32 stopped = g_writer.header()->stopped.load(std::memory_order_relaxed);
    g_writer.drop(stopped ? Drop(stopped - 1) : Drop::no_chunk);
    return;
  }
  char* at = reinterpret_cast<char*>(w.chunk) + w.used;
  memcpy(at + sizeof(RecordHead), reinterpret_cast<const char*>(&r.head) + sizeof(RecordHead),
         r.bytes - sizeof(RecordHead));
  RecordHead head{u16(r.kind), u16(r.bytes / 8), r.id};
  u64 word;
  memcpy(&word, &head, sizeof word);
  std::atomic_ref<u64>(*reinterpret_cast<u64*>(at)).store(word, std::memory_order_release);
  w.used += r.bytes;
}

// Errors after which a context stays unusable. The runtime and the driver have the same numbers for them.
bool kills_context(i32 result) {
  return result == 700 || result == 710 || (result >= 714 && result <= 719) || result == 721;
}

// False: not to be recorded.
bool note_call(const CuptiLibrary& library, GpuRecord& r) {
  const ApiName& name = api_name(library, r.api.cbid);
  if (name.skipped) return false;
  r.id = name.id;
  bool good = r.api.result == 0;
  if (kills_context(r.api.result)) g_context_dead.store(true);
  // The call that ends an invalidated capture returns an error, but does end it.
  if (name.ends_capture) g_launches.capture(r.api.tid, r.begin_ns, false);
  if (name.begins_capture && good) g_launches.capture(r.api.tid, r.begin_ns, true);
  g_launches.call(r.correlation, r.begin_ns, good && name.launches);
  return true;
}

void log(const CuptiLibrary& library, GpuRecord& r) {
  if (!g_writer.is_open()) return;
  if (r.kind == Kind::device) return device_seen(r.id, r.device);
  if (r.kind == Kind::context) return context_seen(r.id, r.context);
  u64 launch_ns = 0;
  if (r.kind == Kind::api) {
    if (!note_call(library, r)) return;
  } else if (r.is_work()) {
    launch_ns = g_launches.work(r.correlation);
    g_odd.zero_time += r.begin_ns == 0 && !r.unfinished;
    g_odd.early += r.begin_ns && r.begin_ns < launch_ns;
    if (r.unfinished) return g_writer.drop(Drop::gpu_late);
  }
  const char* kernel = r.name ? r.name : "unknown kernel";
  if (r.kind == Kind::kernel) r.id = intern_bytes(kernel, strlen(kernel));
  for (Window& w : g_windows) {
    if (!w.record) continue;
    refresh(w);
    if (may_belong(w, r, launch_ns)) append(w, r);
  }
  bool counts = r.is_work() || r.kind == Kind::api;  // CUPTI's own overhead may be reported at any time
  if (counts && !g_launches.given_up(r.correlation) && in_past(launch_ns ? launch_ns : r.begin_ns))
    g_writer.drop(Drop::gpu_late);
}

// Whether nothing more is to be waited for, which is then given up. Of what was dropped it is not known which launches
// it was: it may be all that are pending, once no more of them get their records.
bool settle(Window& w, const BufferPool& buffers, u64 now) {
  w.flushes++;
  u32 pending = g_launches.pending(w.begin_ns, w.end_ns);
  if (pending != w.pending || !w.pending_since_ns) w.pending = pending, w.pending_since_ns = now;
  bool dropped = pending <= g_dropped_now && now - w.pending_since_ns >= kDroppedWait_ns;
  bool complete = !buffers.holds_content_from_before(w.closing_ns) && (pending == 0 || dropped);
  bool over = wait_is_over(w, now) || g_context_dead.load();
  if (!complete && !over) return false;
  g_launches.give_up(w.begin_ns, w.end_ns);
  if (pending > g_dropped_now) g_writer.drop(Drop::gpu_late, pending - g_dropped_now);
  g_dropped_now -= pending < g_dropped_now ? pending : g_dropped_now;
  return w.delivered = true;
}

}  // namespace

void gpu_log_open(WindowRecord* window) {
  SpinGuard guard(g_lock);
  if (!any_window()) {
    g_early = read_clocks();
    g_launches.end_captures(g_early.realtime_ns);
  }
  for (Window& w : g_windows)
    if (!w.record) {
      w = {};
      w.record = window;
      return;
    }
  g_writer.drop(Drop::internal);
}

void gpu_log_change_epoch(WindowRecord* window) {
  SpinGuard guard(g_lock);
  for (Window& w : g_windows) {
    if (w.record != window || !w.chunk) continue;
    g_writer.retire_chunk(w.chunk);
    w.chunk = nullptr;
  }
}

void gpu_log_close(WindowRecord* window) {
  SpinGuard guard(g_lock);
  for (Window& w : g_windows) {
    if (w.record != window) continue;
    refresh(w);
    if (w.begin_ns && w.end_ns) g_past[g_past_count++ % kPast] = {w.begin_ns, w.end_ns};
    if (w.chunk) g_writer.retire_chunk(w.chunk);
    w = {};
  }
}

bool gpu_log_has_windows() {
  SpinGuard guard(g_lock);
  return any_window();
}

void gpu_log_buffer(const CuptiLibrary& library, u8* buffer, size_t valid, bool scrap) {
  u8 *record = nullptr, *previous = nullptr;
  u64 lost = 0;
  int rc = cupti::kSuccess;
  while (valid && (rc = library.api.cuptiActivityGetNextRecord(buffer, valid, &record)) == cupti::kSuccess) {
    // A library that does not advance, or leaves the buffer, would loop here for ever.
    bool advances = record >= buffer && record > previous && record + sizeof(u32) <= buffer + valid;
    if (!advances) rc = cupti::kInvalidKind;
    if (!advances) break;
    previous = record;
    ActivityView view{record, 0};
    view.bytes = library.sizes.of(view.kind());
    GpuRecord out;
    if (scrap) {
      lost++;
    } else if (view.bytes && record + view.bytes <= buffer + valid && read_activity(view, out)) {
      SpinGuard guard(g_lock);
      log(library, out);
    }
  }
  if (rc != cupti::kSuccess && rc != cupti::kMaxLimitReached) {
    SpinGuard guard(g_lock);
    g_odd.unreadable++;
    g_writer.drop(Drop::gpu_dropped);  // at least one
  }
  if (lost) gpu_log_dropped(lost);
}

bool gpu_log_waits() {
  SpinGuard guard(g_lock);
  for (Window& w : g_windows) {
    if (!w.record) continue;
    refresh(w);
    if (w.closing_ns && !w.delivered) return true;
  }
  return false;
}

bool gpu_log_delivered(const WindowRecord* window) {
  if (g_writer.is_cut()) return true;  // the window record can no longer be read
  // A little longer than gpu_log_settle() waits: if CUPTI hangs, the window must still be sealed.
  u64 now = clock_ns(CLOCK_MONOTONIC), longest = kLongestWait_ns + 1'000'000'000;
  SpinGuard guard(g_lock);
  for (Window& w : g_windows) {
    if (w.record != window) continue;
    refresh(w);
    w.polled++;
    return w.delivered || (w.closing_ns && now > w.closing_ns + longest && w.polled >= kLeastFlushes);
  }
  return true;
}

void gpu_log_settle(const BufferPool& buffers, u64 flush_began_ns) {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  SpinGuard guard(g_lock);
  bool delivers = false, others = false;
  for (Window& w : g_windows) {
    if (!w.record || w.delivered) continue;
    refresh(w);
    bool closing = w.closing_ns && flush_began_ns >= w.closing_ns;
    if (closing && settle(w, buffers, now))
      delivers = true;
    else
      others = true;
  }
  // What was dropped belongs to no window any more. Not all of it were launches that are waited for.
  if (delivers && !others) g_dropped_now = 0;
}

bool gpu_log_overdue() {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  SpinGuard guard(g_lock);
  for (const Window& w : g_windows)
    if (w.record && !w.delivered && wait_is_over(w, now)) return true;
  return false;
}

void gpu_log_dropped(u64 count) {
  g_writer.drop(Drop::gpu_dropped, count);
  SpinGuard guard(g_lock);
  g_dropped_now += count;
}

bool gpu_log_context_dead() { return g_context_dead.load(); }

void gpu_log_note_oddities() {
  char text[160];
  {
    SpinGuard guard(g_lock);
    if (!g_writer.is_open() || !memcmp(&g_odd, &g_odd_noted, sizeof g_odd)) return;
    g_odd_noted = g_odd;
    snprintf(text, sizeof text,
             "without times %llu, before their launch %llu, buffers that could not be read to their end %llu",
             static_cast<unsigned long long>(g_odd.zero_time), static_cast<unsigned long long>(g_odd.early),
             static_cast<unsigned long long>(g_odd.unreadable));
  }
  g_writer.add_info("cupti.odd_records", text);
}

void gpu_log_forget() {
  g_lock.reset();
  memset(static_cast<void*>(g_windows), 0, sizeof g_windows);
}

}  // namespace tprof
