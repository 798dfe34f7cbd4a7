#include "analysis/tables/counters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/tables/memory.h"
#include "model/gpu/series.h"

namespace tprof {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Of points at the same time the last one counts; those that change nothing are left out.
void add_point(Counter& to, i64 ns, double value) {
  std::vector<CounterPoint>& points = to.points;
  if (!points.empty() && points.back().ns == ns) points.pop_back();
  if (!points.empty() && (points.back().value == value || (std::isnan(points.back().value) && std::isnan(value))))
    return;
  points.push_back({ns, value});
}

void add_memory(const Model& model, std::vector<Counter>& out) {
  for (const auto& [device, curve] : memory_curves(model)) {
    if (curve.points.empty()) continue;
    std::string name = device_text(device), group = name.starts_with("GPU") ? "gpu " + name.substr(3) : name;
    std::string key = group;
    std::replace(key.begin(), key.end(), ' ', '/');
    if (name == "CPU") group = "host", key = "cpu";
    Counter allocated{key + "/allocated", group, "Allocated on " + name, CounterUnit::bytes, {}};
    Counter reserved{key + "/reserved", group, "Reserved on " + name, CounterUnit::bytes, {}};
    for (const MemoryPoint& p : curve.points) {
      add_point(allocated, p.ns, double(p.allocated_bytes));
      add_point(reserved, p.ns, double(p.reserved_bytes));
    }
    out.push_back(std::move(allocated));
    // An allocator that reserves nothing ahead, as that of the CPU, states 0.
    if (std::any_of(reserved.points.begin(), reserved.points.end(), [](const CounterPoint& p) { return p.value != 0; }))
      out.push_back(std::move(reserved));
  }
}

void add_gpus(const Model& model, std::vector<Counter>& out) {
  for (const GpuSeries& series : gpu_series(model)) {
    std::string gpu = std::to_string(series.device);
    Counter busy{"gpu/" + gpu + "/utilization", "gpu " + gpu, "GPU utilization", CounterUnit::percent, {}};
    Counter sm{"gpu/" + gpu + "/sm_efficiency", "gpu " + gpu, "Est. SM efficiency", CounterUnit::percent, {}};
    for (const GpuSeries::Stretch& s : series.stretches) {
      add_point(busy, s.begin_ns, 100 * s.utilization);
      add_point(sm, s.begin_ns, s.sm_efficiency < 0 ? kUnknown : 100 * s.sm_efficiency);
    }
    for (Counter* counter : {&busy, &sm}) {
      bool known = std::any_of(counter->points.begin(), counter->points.end(),
                               [](const CounterPoint& p) { return !std::isnan(p.value); });
      if (!known) continue;
      add_point(*counter, series.stretches.back().end_ns, kUnknown);
      out.push_back(std::move(*counter));
    }
  }
}

void add_queues(const Launches& launches, std::vector<Counter>& out) {
  for (const Queue& queue : launches.queues) {
    std::string gpu = std::to_string(queue.device), stream = std::to_string(queue.stream);
    Counter counter{"gpu/" + gpu + "/queue/" + stream,
                    "gpu " + gpu,
                    "Queue of stream " + stream,
                    CounterUnit::count,
                    {}};
    for (const QueuePoint& p : queue.points) add_point(counter, p.ns, double(p.length));
    if (!counter.points.empty()) out.push_back(std::move(counter));
  }
}

}  // namespace

std::vector<Counter> counters_of(const Model& model, const Launches& launches) {
  std::vector<Counter> out;
  add_memory(model, out);
  add_gpus(model, out);
  add_queues(launches, out);
  return out;
}

}  // namespace tprof
