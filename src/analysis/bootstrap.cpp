#include "analysis/bootstrap.h"

#include <algorithm>
#include <cmath>

namespace tprof {
namespace {

constexpr u64 kSeed = 0x7470726f66;

// splitmix64: the same on every machine, unlike the distributions of <random>.
u64 next(u64& state) {
  u64 z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

Bootstrap::Side::Side(size_t steps, u64 seed) : steps_(steps) {
  if (steps < kLeastSteps) return;
  times_drawn_.resize(steps * kResamples);
  for (u32 draw = 0; draw < kResamples; draw++)
    for (size_t i = 0; i < steps; i++) times_drawn_[draw * steps + next(seed) % steps]++;
}

double Bootstrap::Side::mean(const StepValues& values) const {
  double sum = 0;
  for (const StepValue& v : values) sum += v.value;
  return sum / double(steps_);
}

double Bootstrap::Side::resampled_mean(const StepValues& values, u32 draw) const {
  const u16* times = times_drawn_.data() + draw * steps_;
  double sum = 0;
  for (const StepValue& v : values) sum += v.value * times[v.step];
  return sum / double(steps_);
}

Bootstrap::Bootstrap(size_t steps_a, size_t steps_b) : a_(steps_a, kSeed), b_(steps_b, ~kSeed) {}

SureInterval Bootstrap::difference(const StepValues& a, const StepValues& b) const {
  SureInterval out;
  if (a_.steps() < kLeastSteps || b_.steps() < kLeastSteps) return out;
  double mean_a = a_.mean(a), mean_b = b_.mean(b);
  auto widen = [](size_t n) { return std::sqrt(double(n) / double(n - 1)); };
  double wide_a = widen(a_.steps()), wide_b = widen(b_.steps());
  std::vector<double> differences(kResamples);
  for (u32 draw = 0; draw < kResamples; draw++)
    differences[draw] = mean_b - mean_a + wide_b * (b_.resampled_mean(b, draw) - mean_b) -
                        wide_a * (a_.resampled_mean(a, draw) - mean_a);
  std::sort(differences.begin(), differences.end());
  constexpr u32 kTail = kResamples / 40;  // 2.5 %
  out.known = true;
  out.low = differences[kTail];
  out.high = differences[kResamples - 1 - kTail];
  return out;
}

}  // namespace tprof
