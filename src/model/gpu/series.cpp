#include "model/gpu/series.h"

#include <algorithm>
#include <queue>

namespace tprof {
namespace {

constexpr i64 kMaxStretches = 100;

class DeviceSeries {
 public:
  DeviceSeries(u32 device, const std::vector<i64>& edges) {
    out_.device = device;
    for (size_t i = 0; i + 1 < edges.size(); i++) out_.stretches.push_back({edges[i], edges[i + 1]});
    filled_.resize(out_.stretches.size());
    busy_.resize(out_.stretches.size());
    busy_until_ = edges.front();
  }

  // Kernels come in order of their start.
  void add(const GpuEvent& kernel) {
    add_to(busy_, std::max(kernel.begin_ns, busy_until_), kernel.end_ns(), 1);
    busy_until_ = std::max(busy_until_, kernel.end_ns());
    if (kernel.blocks_per_sm <= 0) return;
    advance(kernel.begin_ns);
    blocks_ += kernel.blocks_per_sm;
    ends_.push({kernel.end_ns(), kernel.blocks_per_sm});
    blocks_known_ = true;
  }

  GpuSeries finish() {
    advance(INT64_MAX);
    for (size_t i = 0; i < out_.stretches.size(); i++) {
      GpuSeries::Stretch& s = out_.stretches[i];
      auto length = double(s.end_ns - s.begin_ns);
      s.utilization = busy_[i] / length;
      if (blocks_known_) s.sm_efficiency = filled_[i] / length;
    }
    return std::move(out_);
  }

 private:
  struct End {
    i64 ns;
    double blocks;
    bool operator<(const End& other) const { return ns > other.ns; }  // the earliest is on top
  };

  // Accounts for the running kernels up to a moment.
  void advance(i64 ns) {
    while (!ends_.empty()) {
      i64 until = std::min(ns, ends_.top().ns);
      add_to(filled_, at_, until, std::clamp(blocks_, 0.0, 1.0));
      at_ = std::max(at_, until);
      if (ends_.top().ns > ns) return;
      blocks_ -= ends_.top().blocks;
      ends_.pop();
    }
    blocks_ = 0;  // removes what rounding has left
    at_ = ns;
  }

  void add_to(std::vector<double>& sums, i64 begin, i64 end, double weight) const {
    const std::vector<GpuSeries::Stretch>& all = out_.stretches;
    auto [first, each_ends] = std::pair(all.front().begin_ns, all.front().end_ns);
    begin = std::max(begin, first);
    end = std::min(end, all.back().end_ns);
    if (begin >= end || weight <= 0) return;
    auto number = static_cast<size_t>((begin - first) / (each_ends - first));
    for (size_t i = std::min(number, all.size() - 1); begin < end; i++) {
      i64 until = std::min(end, all[i].end_ns);
      sums[i] += weight * double(until - begin);
      begin = until;
    }
  }

  GpuSeries out_;
  std::vector<double> busy_, filled_;  // ns, by stretch
  i64 busy_until_ = 0, at_ = INT64_MIN;
  std::priority_queue<End> ends_;  // of the running kernels
  double blocks_ = 0;              // the sum over the running kernels
  bool blocks_known_ = false;
};

}  // namespace

std::vector<i64> series_edges(i64 begin_ns, i64 end_ns) {
  i64 each = 1000;
  while (double(end_ns - begin_ns) / double(each) > kMaxStretches) each *= 10;
  std::vector<i64> out;
  for (i64 i = 0; i < (end_ns - begin_ns) / each; i++) out.push_back(begin_ns + i * each);
  if (!out.empty()) out.push_back(end_ns);
  return out;
}

std::vector<GpuSeries> gpu_series(const Model& model) {
  std::vector<i64> edges = series_edges(model.begin_ns, model.end_ns);
  std::map<u32, DeviceSeries> devices;
  for (const GpuEvent& e : model.gpu)
    if (!edges.empty() && (e.kind() == Kind::kernel || e.kind() == Kind::graph) && e.device != kNone)
      devices.try_emplace(e.device, e.device, edges).first->second.add(e);
  std::vector<GpuSeries> out;
  for (auto& [device, series] : devices) out.push_back(series.finish());
  return out;
}

}  // namespace tprof
