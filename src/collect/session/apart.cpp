#include "collect/session/apart.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"

namespace tprof {
namespace {

struct Apart {
  void (*job)();
  std::atomic<u32> done{0};
};

// From `done` on the caller uses its thread-local storage again: nothing but system calls that do not fail.
__attribute__((no_sanitize("address"))) int run(void* arg) {
  auto& apart = *static_cast<Apart*>(arg);
  apart.job();
  apart.done.store(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<u32*>(&apart.done), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  for (;;) syscall(SYS_exit, 0);
}

bool wait_until_done(Apart& apart, u64 limit_ns) {
  u64 end = clock_ns(CLOCK_MONOTONIC) + limit_ns;
  while (!apart.done.load(std::memory_order_acquire)) {
    u64 now = clock_ns(CLOCK_MONOTONIC);
    if (now >= end) return false;
    timespec left{time_t((end - now) / 1'000'000'000), long((end - now) % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<u32*>(&apart.done), FUTEX_WAIT_PRIVATE, 0, &left, nullptr, 0);
  }
  return true;
}

}  // namespace

bool run_apart(void (*job)(), u64 limit_ns) {
  constexpr size_t kStack = 512 << 10;
  constexpr int kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  // Stays: the process ends.
  void* at = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) return false;
  auto* apart = static_cast<Apart*>(at);
  apart->job = job;
  // Signals are the program's, except those that writing to a recording may raise (bus_guard.h).
  sigset_t ours, before;
  sigfillset(&ours);
  sigdelset(&ours, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &ours, &before);
  bool runs = clone(run, static_cast<char*>(at) + kStack, kThread, apart) > 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return runs && wait_until_done(*apart, limit_ns);
}

}  // namespace tprof
