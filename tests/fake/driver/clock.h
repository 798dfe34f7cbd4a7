// The machine's time: the real one, or a virtual one that moves only when it is asked (100 ns), when a call returns
// (1 us) and when somebody waits. Virtual time makes two runs of a single-threaded program alike to the byte.
#pragma once
#include <atomic>

#include "types.h"

namespace sim {

class Clock {
 public:
  Clock();
  u64 now();
  u64 peek() { return virtual_ ? time_.load() : now(); }
  void call_returns() {
    if (virtual_) time_ += kCall_ns;
  }
  void sleep_until(u64 time);
  bool is_virtual() const { return virtual_; }
  void use(u64 (*source)());
  u64 client(u64 time);  // that time as the source would have told it, which may count ticks

 private:
  static constexpr u64 kTick_ns = 100, kCall_ns = 1000, kCalibration_ns = 2000000, kClose_ns = 500;
  bool virtual_;
  std::atomic<u64> time_{0};
  std::atomic<u64 (*)()> source_{nullptr};
  struct Moment {
    u64 time, source;  // on both clocks
  };
  static Moment look(u64 (*source)());
  Moment first_{};  // when the source was given
};

}  // namespace sim
