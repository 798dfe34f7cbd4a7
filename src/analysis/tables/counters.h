// What is drawn as a curve above the tracks: memory of each device, how busy GPUs are, how long queues are.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/launches.h"
#include "model/trace.h"

namespace tprof {

struct CounterPoint {
  i64 ns;
  double value;  // from this time on; NaN: not known
};

enum class CounterUnit : u8 { bytes, percent, count };

struct Counter {
  std::string key;  // unique: "gpu/0/allocated", "cpu/reserved", "gpu/0/utilization", "gpu/0/queue/7"
  std::string group, title;
  CounterUnit unit;
  std::vector<CounterPoint> points;  // in order of time; each differs from the one before
};

std::vector<Counter> counters_of(const Model& model, const Launches& launches);

}  // namespace tprof
