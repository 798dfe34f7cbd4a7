#include "base/loaded.h"

#include <time.h>

#include <atomic>

#include "base/clock.h"
#include "base/keep_errno.h"
#include "base/types.h"
#include "base/uncancelled.h"

namespace tprof {
namespace {

constexpr u64 kLongest_ns = 1'000'000'000;  // a walk takes microseconds, but its thread may have lost the processor

std::atomic<u32> g_walks{0}, g_forks{0};  // in progress
// Of this thread: a signal handler that interrupts a walk may fork, and what runs before a fork may walk.
__thread u32 t_walks __attribute__((tls_model("initial-exec")));
__thread u32 t_forks __attribute__((tls_model("initial-exec")));

// False: they still go on.
bool wait_while(const std::atomic<u32>& others, u32 own, u64 end) {
  Uncancelled uncancelled;
  while (others.load() > own) {
    if (clock_ns(CLOCK_MONOTONIC) > end) return false;
    timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

// Either this thread sees a fork, or the fork sees this walk.
void begin_walk() {
  g_walks.fetch_add(1);
  if (t_walks++ || g_forks.load() <= t_forks) return;
  KeepErrno keep;
  u64 end = clock_ns(CLOCK_MONOTONIC) + kLongest_ns;
  do {
    g_walks.fetch_sub(1);
    bool over = wait_while(g_forks, t_forks, end);
    g_walks.fetch_add(1);
    if (!over) return;
  } while (g_forks.load() > t_forks);
}

}  // namespace

int walk_loaded(int (*see)(dl_phdr_info*, size_t, void*), void* arg) {
  begin_walk();
  int status = dl_iterate_phdr(see, arg);
  t_walks--;
  g_walks.fetch_sub(1);
  return status;
}

void hold_walks() {
  g_forks.fetch_add(1);
  t_forks++;
  KeepErrno keep;
  wait_while(g_walks, t_walks, clock_ns(CLOCK_MONOTONIC) + kLongest_ns);
}

void release_walks() {
  t_forks--;
  g_forks.fetch_sub(1);
}

void forget_walks() {
  t_forks = 0;
  g_forks.store(0);
  g_walks.store(t_walks);
}

}  // namespace tprof
