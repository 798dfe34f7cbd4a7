// Time stamps for the hot path, and what is needed to turn them into wall time later.
//
// A stamp ("ticks") is the invariant TSC on x86-64, the virtual counter on aarch64, and CLOCK_MONOTONIC
// nanoseconds where neither can be trusted. Ticks mean nothing alone: the recording holds (ticks, realtime,
// monotonic) triples, taken about every second, and the reader interpolates between them.
#pragma once
#include <time.h>

#include "base/types.h"

namespace tprof {

enum class ClockKind : u32 { monotonic_ns = 0, tsc = 1, cntvct = 2 };

struct ClockTriple {
  u64 ticks;
  u64 realtime_ns;   // CLOCK_REALTIME, since the epoch
  u64 monotonic_ns;  // CLOCK_MONOTONIC
};

// Which clock now_ticks() reads. init_clock() decides it when a session is attached, not earlier: CPUID takes
// microseconds in a virtual machine.
extern ClockKind g_clock_kind;
void init_clock();

constexpr u64 kSecond_ns = 1'000'000'000;

inline u64 clock_ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return u64(t.tv_sec) * kSecond_ns + u64(t.tv_nsec);
}

// True if ticks are the counter of the processor: then counter_ticks() returns them without a call.
inline bool ticks_are_counted() { return __builtin_expect(g_clock_kind != ClockKind::monotonic_ns, 1); }

inline u64 counter_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // as __rdtsc() of x86intrin.h, whose 48,000 lines every file would read
#elif defined(__aarch64__)
  u64 v;
  asm volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#else
  return 0;
#endif
}

inline u64 now_ticks() { return ticks_are_counted() ? counter_ticks() : clock_ns(CLOCK_MONOTONIC); }

// The three clocks read as close together as possible (best of a few tries).
ClockTriple read_clocks();

}  // namespace tprof
