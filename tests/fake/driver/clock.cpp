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
  return real_time();
}

// The closest of a few looks: the thread may lose the processor between one clock and the other.
Clock::Moment Clock::look(u64 (*source)()) {
  Moment closest{};
  u64 distance = ~u64(0);
  for (int i = 0; i < 8 && distance > kClose_ns; i++) {
    u64 before = real_time(), there = source(), after = real_time();
    if (after - before >= distance) continue;
    distance = after - before;
    closest = {before + distance / 2, there};
  }
  return closest;
}

// The machine runs on its own clock; only records speak in the client's, whose unit is found by waiting a little.
void Clock::use(u64 (*source)()) {
  if (virtual_) return;
  source_ = nullptr;
  if (source == nullptr) return;
  first_ = look(source);
  while (real_time() < first_.time + kCalibration_ns) {
  }
  source_ = source;
}

u64 Clock::client(u64 time) {
  u64 (*source)() = source_;
  if (source == nullptr || time == 0) return time;
  Moment now = look(source);
  double rate = double(now.source - first_.source) / double(now.time - first_.time);
  return now.source - u64(i64(double(i64(now.time - time)) * rate));
}

void Clock::sleep_until(u64 time) {
  if (virtual_) {
    u64 seen = time_;
    while (seen < time && !time_.compare_exchange_weak(seen, time)) {
    }
    return;
  }
  for (u64 at = now(); at < time; at = now()) {
    timespec slice{0, long(std::min<u64>(time - at, 1000000))};
    nanosleep(&slice, nullptr);
  }
}

}  // namespace sim
