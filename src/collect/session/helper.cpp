#include "collect/session/helper.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/uncancelled.h"
#include "collect/recorder/thread.h"
#include "collect/session/bus_guard.h"
#include "collect/session/finisher.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

SpinLock g_lock;  // guards starting and stopping
pthread_t g_thread;
bool g_running;
std::atomic<u32> g_stop{0};
std::atomic<u32> g_tid{0};
std::atomic<u32> g_wakes{0};
std::atomic<u32> g_ready{0};
std::atomic<u32> g_over{0};  // it has nothing left to do, and ends
std::atomic<u32> g_flush_wanted{0};
std::atomic<bool> g_stuck{false};
std::atomic<bool> g_said_unwatched{false};

void sleep_while(std::atomic<u32>& word, u32 is, u64 ns) {
  timespec timeout{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<u32*>(&word), FUTEX_WAIT_PRIVATE, is, &timeout, nullptr, 0);
}

void wake(std::atomic<u32>& word) {
  syscall(SYS_futex, reinterpret_cast<u32*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Descriptor numbers are the program's: what this thread opens for a moment must not take one that the program would
// have got. A table of its own, empty, so that nothing of the program's is held open by us either.
void leave_descriptor_table() {
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE; Linux 5.9, earlier ones keep sharing
  // glibc 2.31 has no SYS_close_range.
  if (syscall(__NR_close_range, 0u, ~0u, kUnshare) == 0) log_from_apart();
}

void ready() {
  g_ready.store(1, std::memory_order_release);
  wake(g_ready);
}

void* run(void*) {
  constexpr long kPause_ns = 20'000'000;
  constexpr u64 kClockEvery_ns = 1'000'000'000;
  t_self.inside = 1;  // nothing this thread does is an event
  bus_guard_own_thread();
  prctl(PR_SET_NAME, "tprof");
  g_tid.store(current_tid());
  leave_descriptor_table();
  const Options& options = g_session.options();
  bool is_watched = options.trigger.hang_seconds != 0;
  bool finishes = finisher_start_early(ready, options.sample || is_watched);
  if (is_watched && !finishes && g_session.speaks() && !g_said_unwatched.exchange(true))
    say("nobody looks for hangs of this process: orphans come to it (PID 1, or a subreaper), or the tool is missing; "
        "tprof-run helps with the former, tprof doctor names the latter");
  ready();
  u64 last_clock = clock_ns(CLOCK_MONOTONIC);
  while (!g_stop.load(std::memory_order_acquire)) {
    g_stuck.store(false);
    u32 seen = g_wakes.load(std::memory_order_acquire);
    g_writer.top_up();
    bool waits = g_session.seal_windows();
    if (g_flush_wanted.exchange(0)) g_session.triggered({TriggerWhy::signal});
    g_session.look_for_requests();
    g_session.turn_ring();
    u64 now = clock_ns(CLOCK_MONOTONIC);
    if (now - last_clock >= kClockEvery_ns) {
      g_writer.add_clock(read_clocks());
      last_clock = now;
    }
    if (!g_session.recording_wanted() && !waits) break;
    if (!g_stop.load(std::memory_order_acquire)) sleep_while(g_wakes, seen, kPause_ns);
  }
  g_over.store(1, std::memory_order_release);
  wake(g_over);
  return nullptr;
}

// pthread_join returns a little before /proc forgets the thread, and that is where Python counts threads.
void wait_until_gone(u32 tid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u", tid);
  for (int i = 0; i < 1000 && access(path, F_OK) == 0; i++) {
    timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

// A program killed right after this has its finisher: about 1 ms, once. Not for ever: a starved machine goes on.
void wait_until_ready() {
  for (int i = 0; i < 100 && !g_ready.load(std::memory_order_acquire); i++) sleep_while(g_ready, 0, 10'000'000);
}

void join() {
  pthread_join(g_thread, nullptr);
  wait_until_gone(g_tid.load());
  g_running = false;
}

// Under g_lock.
bool stop(u64 limit_ns) {
  if (!g_running) return true;
  g_stop.store(1, std::memory_order_release);
  helper_wake();
  u64 now = clock_ns(CLOCK_MONOTONIC), end = now + limit_ns;
  for (; !g_over.load(std::memory_order_acquire) && now < end; now = clock_ns(CLOCK_MONOTONIC))
    sleep_while(g_over, 0, end - now);
  if (g_over.load(std::memory_order_acquire)) return join(), true;
  g_stuck.store(true);
  g_stop.store(0);
  return false;
}

// Under g_lock.
bool start() {
  if (g_running && !g_over.load(std::memory_order_acquire)) return true;
  if (g_running) join();  // it ended with the last window; windows may come again
  // Signals are the program's: none may land on our thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  g_stop.store(0);
  g_tid.store(0);
  g_ready.store(0);
  g_over.store(0);
  g_stuck.store(false);
  int rc = pthread_attr_setstacksize(&attributes, 512 << 10);
  if (!rc) rc = pthread_create(&g_thread, &attributes, run, nullptr);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  g_running = rc == 0;
  if (g_running) wait_until_ready();
  return g_running;
}

}  // namespace

bool helper_start() {
  Uncancelled uncancelled;
  if (!g_lock.try_lock()) return true;
  bool runs = start();
  g_lock.unlock();
  return runs;
}

bool helper_stop(u64 limit_ns) {
  Uncancelled uncancelled;
  if (!g_lock.lock_within(limit_ns)) return false;
  bool stopped = stop(limit_ns);
  g_lock.unlock();
  return stopped;
}

bool helper_is_stuck() { return g_stuck.load(); }

void helper_forget() {
  g_lock.reset();
  g_running = false;
  g_stuck.store(false);
  g_tid.store(0);
  g_flush_wanted.store(0);
}

void helper_wake() {
  int saved = errno;
  g_wakes.fetch_add(1, std::memory_order_release);
  wake(g_wakes);
  errno = saved;
}

bool helper_request_flush() {
  if (!g_running || !g_session.recording_wanted()) return false;
  g_flush_wanted.store(1);
  helper_wake();
  return true;
}

}  // namespace tprof
