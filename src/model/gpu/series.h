// How busy each GPU was over time: what viewers draw as counters, and torch_tb_profiler calls GPU Utilization and Est. SM
// Efficiency.
#pragma once
#include "model/trace.h"

namespace tprof {

// Stretches of equal length, one after the other. Their length is the power of ten of microseconds of which the span
// has 10 to 100; the last stretch holds what remains as well (torch_tb_profiler's rule).
struct GpuSeries {
  struct Stretch {
    i64 begin_ns, end_ns;
    double utilization = 0;  // part of it in which a kernel ran, 0 to 1
    double sm_efficiency =
        -1;  // mean of min(blocks per SM of the kernels that run, 1); -1: no kernel states its blocks
  };
  u32 device = 0;
  std::vector<Stretch> stretches;
};

// By device with kernels, over Model::begin_ns to end_ns. Empty for a span below a microsecond.
std::vector<GpuSeries> gpu_series(const Model& model);

// The edges of those stretches; the span's end is the last.
std::vector<i64> series_edges(i64 begin_ns, i64 end_ns);

}  // namespace tprof
