// Session, continued: flight mode. One window is always open, and holds the newest spans (ring.h). It goes from epoch
// to epoch, each time under a higher number, while its begin moves on. A trigger ends it and opens the next one: what
// it holds then is converted like any other window, and its chunks stay until that is done.
//
// All of this is done by the helper thread; in a helper process, which has none, by the thread that notices that its
// leader has gone to another epoch.
#include "collect/recorder/recorder.h"
#include "collect/session/collector.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

// Hooks last microseconds. A thread that was descheduled in one is waited for at the next turn.
constexpr u64 kPatience_ns = 5'000'000;

}  // namespace

// Whether there is a ring to be turned now.
bool Session::flies() const { return ring_.is_on() && live() && windows_.is_active() && recording_epoch() != kNoEpoch; }

// `first_epoch`: of the chunks that may hold events of the window that was just opened.
void Session::start_ring(u32 first_epoch) {
  ring_.start(recording_epoch(), first_epoch, leader_seen_, now_ticks(), clock_ns(CLOCK_MONOTONIC));
  g_first_epoch.store(recording_epoch(), std::memory_order_release);
  bool began_before = detector_.number() < 0 || step_.ticks < windows_.current()->begin_ticks;
  g_writer.header()->ring_first_step.store(detector_.number() + began_before, std::memory_order_relaxed);
  if (!family_.is_helper()) g_chunk_needed.store([] { helper_start(); }, std::memory_order_relaxed);
}

void Session::change_epoch(u32 leader_epoch, u64 ns) {
  windows_.renumber();
  plan_.window = windows_.number();
  u32 epoch = u32(plan_.window) * 2 + 1;
  ring_.roll(epoch, leader_epoch, ns, g_writer.full_chunks());
  g_epoch.store(epoch, std::memory_order_release);
  g_writer.header()->epoch.store(epoch, std::memory_order_release);
  tell_collectors(&Collector::epoch_changed, windows_.current());
}

void Session::drop_spans(u64 ns) {
  auto is_over = [&] {
    if (ring_.is_over(g_writer.chunks_from(ring_.first_epoch()), ns)) return true;
    return family_.is_helper() && ring_.leader_dropped(family_.leader_kept_epoch());
  };
  while (is_over()) windows_.current()->begin_ticks = ring_.drop();
  g_first_epoch.store(ring_.oldest_epoch(), std::memory_order_release);
}

void Session::turn_ring() {
  if (!ring_.is_on()) return;
  u64 ns = clock_ns(CLOCK_MONOTONIC);
  bool rolls;
  u32 epoch;
  {
    SpinGuard guard(lock_);
    if (!flies()) return;
    u32 leader = family_.is_helper() ? family_.leader_epoch() : leader_seen_;
    if (leader == kNoEpoch && family_.is_helper()) return;  // mirror() ends the window
    rolls = leader != leader_seen_ || ring_.span_is_over(g_writer.full_chunks(), ns);
    leader_seen_ = leader;
    if (rolls) change_epoch(leader, ns);
    epoch = ring_.newest_epoch();
  }
  if (rolls) quiesce(epoch, kPatience_ns);
  u32 kept, first, count;
  EpochRange ranges[Ring::kMaxKept];
  {
    SpinGuard guard(lock_);
    if (!flies()) return;
    if (rolls) ring_.span_begins(epoch, now_ticks());
    drop_spans(ns);
    kept = ring_.kept_epoch(g_writer.header()->given_back.load(std::memory_order_acquire));
    count = ring_.kept_epochs(ranges);
    first = ring_.first_epoch();
  }
  FileHeader* h = g_writer.header();
  bool dropped = kept > h->kept_epoch.load() || first != cleared_epoch_.load();
  if (!dropped || !quiesce(recording_epoch(), kPatience_ns)) return;
  h->kept_epoch.store(kept);
  cleared_epoch_.store(first);
  g_writer.give_back(ranges, count);
}

// What the ring holds becomes a trace that ends at `ticks`. Under the lock.
void Session::cut_ring(const Asked& asked, u64 ticks) {
  if (!flies()) return;
  u32 last_epoch = ring_.newest_epoch();
  note_trigger(asked, ticks);
  end_window(-1, ticks);
  if (!windows_.open(windows_.next(), 0)) {  // the disk is full: said by the writer
    finished_ = true;
    return take_phase(Phase::ended);
  }
  windows_.activate(-1, ticks);
  plan_.window = windows_.number();
  take_phase(Phase::active);
  start_ring(last_epoch);
}

}  // namespace tprof
