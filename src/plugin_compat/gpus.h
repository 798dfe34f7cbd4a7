// GPUs as the plugin sums them up: the figures of its panel, and the two series that it draws above a trace.
#pragma once
#include "analysis/time/overview.h"
#include "model/plugin_trace.h"
#include "plugin_compat/steps.h"
#include "plugin_compat/tensor_cores.h"

namespace tprof {

void describe_gpu(GpuFigures& gpu, const PluginDevice& device);

// Of every device that a kernel names. Throws Error where the plugin drops the file.
std::vector<GpuFigures> plugin_gpu_figures(const Model& model, const PluginTrace& trace, const PluginSteps& steps,
                                           const PluginTensorCores& tensor_cores);

struct PluginGpuSeries {
  struct Stretch {
    PluginRange time;
    double value;  // 0 to 1
  };
  u32 device;
  std::vector<Stretch> utilization;    // stretches of PluginSteps::span, see model/gpu/series.h
  std::vector<Stretch> sm_efficiency;  // from each begin or end of a kernel to the next, where any runs
};
std::vector<PluginGpuSeries> plugin_gpu_series(const Model& model, const PluginTrace& trace, const PluginSteps& steps);

}  // namespace tprof
