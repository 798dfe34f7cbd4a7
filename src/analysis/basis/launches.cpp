#include "analysis/basis/launches.h"

#include <algorithm>

#include "model/sort.h"

namespace tprof {
namespace {

constexpr size_t kExamples = 10;

// The indices with the largest values, largest first.
std::vector<u32> top(std::vector<std::pair<i64, u32>> values) {
  size_t n = std::min(kExamples, values.size());
  std::partial_sort(values.begin(), values.begin() + i64(n), values.end(), std::greater<>());
  std::vector<u32> out;
  for (size_t i = 0; i < n; i++) out.push_back(values[i].second);
  return out;
}

// By call: how long all activities that it launched take, inside the windows or not.
std::vector<i64> gpu_time_by_call(const Model& model) {
  std::vector<i64> out(model.calls.size());
  for (const GpuEvent& work : model.gpu)
    if (work.runs_on_gpu() && work.call != kNone) out[work.call] += work.dur_ns;
  return out;
}

struct QueueEdge {
  i64 ns;
  int change;
  u32 call;  // of a launch
};

Queue queue_of(u32 device, u32 stream, std::vector<QueueEdge> edges, const Interval& window, const Model& model) {
  Queue out{device, stream};
  sort_if_needed(edges, [](const QueueEdge& a, const QueueEdge& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.change < b.change;  // activities leave before others arrive
  });
  i64 length = 0, at = window.begin;
  double area = 0;
  for (const QueueEdge& edge : edges) {
    i64 ns = std::clamp(edge.ns, window.begin, window.end);
    area += double(length) * double(ns - at);
    if (length >= kQueueLimit) {
      out.full_ns += ns - at;
      if (edge.change > 0) {
        out.blocked_calls++;
        out.blocked_ns += model.calls[edge.call].dur_ns;
      }
    }
    at = ns;
    length += edge.change;
    out.longest = std::max(out.longest, u32(length));
    if (!out.points.empty() && out.points.back().ns == edge.ns)
      out.points.back().length = u32(length);
    else
      out.points.push_back({edge.ns, u32(length)});
  }
  if (window.length() > 0) out.mean = area / double(window.length());
  return out;
}

}  // namespace

Launches launches(const Model& model, const Windows& windows, const Waits& waits) {
  Launches out;
  std::vector<i64> launched_ns = gpu_time_by_call(model);
  std::map<std::pair<u32, u32>, std::vector<QueueEdge>> edges;
  std::vector<std::pair<i64, u32>> slow, delayed;
  std::vector<bool> counted(model.calls.size());  // the launch of a graph has many activities
  for (u32 i = 0; i < model.gpu.size(); i++) {
    const GpuEvent& work = model.gpu[i];
    if (!work.runs_on_gpu() || !windows.holds(work.begin_ns)) continue;
    if (work.call == kNone) {
      out.without_call++;
      continue;
    }
    const CallEvent& call = model.calls[work.call];
    bool first = !counted[work.call];
    counted[work.call] = true;
    out.activities++;
    out.gpu_ns += work.dur_ns;
    i64 delay = std::max<i64>(0, work.begin_ns - call.end_ns());
    out.delay_ns += delay;
    out.longest_delay_ns = std::max(out.longest_delay_ns, delay);
    if (delay > kLongDelayNs) {
      out.long_delays++;
      delayed.push_back({delay, i});
    }
    i64 waited = waits.ns(work.call), own_ns = call.dur_ns - waited;
    if (launched_ns[work.call] < own_ns) out.shorter_than_launch++;
    bool is_short = work.dur_ns < kShortWorkNs;
    out.short_activities += is_short;
    if (is_short) out.short_gpu_ns += work.dur_ns;
    if (first) {
      out.host_ns += call.dur_ns;
      out.wait_ns += waited;
      if (is_short) out.short_host_ns += call.dur_ns;
      if (is_short) out.short_wait_ns += waited;
      if (own_ns > kSlowLaunchNs) {
        out.slow_calls++;
        slow.push_back({own_ns, work.call});
      }
    }
    std::vector<QueueEdge>& list = edges[{work.device, work.stream}];
    if (work.begin_ns <= call.begin_ns)
      continue;  // it did not wait; by clocks that differ it began even before the call
    list.push_back({call.begin_ns, 1, work.call});
    list.push_back({work.begin_ns, -1, work.call});
  }
  out.slowest_calls = top(std::move(slow));
  out.most_delayed = top(std::move(delayed));
  for (auto& [stream, list] : edges)
    out.queues.push_back(queue_of(stream.first, stream.second, std::move(list), windows.all, model));
  return out;
}

}  // namespace tprof
