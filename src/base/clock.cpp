#include "base/clock.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tprof {

ClockKind g_clock_kind = ClockKind::monotonic_ns;

namespace {

#if defined(__x86_64__)
// CPUID 0x80000007, EDX bit 8: the TSC runs at a constant rate in all power states.
bool has_invariant_tsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

}  // namespace

void init_clock() {
#if defined(__x86_64__)
  if (has_invariant_tsc()) g_clock_kind = ClockKind::tsc;
#elif defined(__aarch64__)
  g_clock_kind = ClockKind::cntvct;  // architecturally constant
#endif
}

ClockTriple read_clocks() {
  ClockTriple best{};
  u64 best_width = ~0ull;
  for (int i = 0; i < 3; i++) {
    u64 before = now_ticks();
    u64 realtime = clock_ns(CLOCK_REALTIME);
    u64 monotonic = clock_ns(CLOCK_MONOTONIC);
    u64 after = now_ticks();
    if (after - before < best_width) {
      best_width = after - before;
      best = {before + (after - before) / 2, realtime, monotonic};
    }
  }
  return best;
}

}  // namespace tprof
