// How busy each GPU was over time. Viewers draw it as counters; torch_tb_profiler calls it GPU Utilization and Est. SM
// Efficiency.
#pragma once
#include "model/trace.h"

namespace tprof {

// Stretches of equal length, one after the other. Their length in microseconds is the power of ten of which the span
// has 10 to 100; the last stretch also covers the remainder (torch_tb_profiler's rule).
struct GpuSeries {
  struct Stretch {
    i64 begin_ns, end_ns;
    double utilization = 0;     // share of its time in which a kernel ran, 0 to 1
    double sm_efficiency = -1;  // mean of min(blocks per SM of the running kernels, 1); -1: no kernel states its blocks
  };
  u32 device = 0;
  std::vector<Stretch> stretches;
};

// For each device with kernels, from Model::begin_ns to end_ns. Empty for a span of less than a microsecond.
std::vector<GpuSeries> gpu_series(const Model& model);

// The starts of those stretches, and the end of the span.
std::vector<i64> series_edges(i64 begin_ns, i64 end_ns);

}  // namespace tprof
