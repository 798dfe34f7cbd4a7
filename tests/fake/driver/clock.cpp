#include "clock.h"

#include <time.h>

#include <algorithm>

#include "switches.h"

namespace sim {
namespace {

u64 real_time() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return u64(time.tv_sec) * 1000000000 + time.tv_nsec;
}

}  // namespace

Clock::Clock() : virtual_(is(Switch::SIMCUDA_CLOCK, "virtual")) {
  u64 start = number_of(Switch::SIMCUDA_START_NS);
  time_ = start != 0 ? start : real_time();
}

u64 Clock::now() {
  if (virtual_) return time_ += kTick_ns;
  u64 (*source)() = source_;
  return source != nullptr ? source() : real_time();
}

void Clock::sleep_until(u64 time) {
  if (virtual_) {
    u64 seen = time_;
    while (seen < time && !time_.compare_exchange_weak(seen, time)) {
    }
    return;
  }
  // In slices: a clock of CUPTI's client may run at another speed.
  for (u64 at = now(); at < time; at = now()) {
    timespec slice{0, long(std::min<u64>(time - at, 1000000))};
    nanosleep(&slice, nullptr);
  }
}

}  // namespace sim
