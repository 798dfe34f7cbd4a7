// A storm of timer signals: stacks at moments that nothing chooses, in the kernel's calls too, in handlers that are
// interrupted themselves, on the stack of the thread or on one for signals.
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "native_corpus/oracle.h"

namespace tprof::oracle {
namespace {

volatile u64 g_us;  // 0: the storm is over

// For one signal: a timer that repeats would leave the program no time where a look takes longer than its period.
void arm_timer() {
  itimerval timer{{0, 0}, {0, suseconds_t(g_us)}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void on_timer(int) {
  look_by_signal();
  static u64 count;
  if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 8 == 0) raise(SIGVTALRM);
  arm_timer();
}
void on_inner(int) { look_by_signal(); }

u64 now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return u64(t.tv_sec) * 1000 + u64(t.tv_nsec) / 1000000;
}

}  // namespace

void storm(const char* name, void (*run)(), u64 us, u64 ms, bool own_stack) {
  constexpr size_t kBytes = 1 << 17;
  static void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  if (!own_stack) stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_RESTART | (own_stack ? SA_ONSTACK : 0);
  action.sa_handler = on_timer;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_inner;
  sigaction(SIGVTALRM, &action, nullptr);
  g_us = us;
  arm_timer();
  for (u64 end = now_ms() + ms; now_ms() < end;) {
    begin_case(name);
    run();
  }
  g_us = 0;
  arm_timer();
}

}  // namespace tprof::oracle
