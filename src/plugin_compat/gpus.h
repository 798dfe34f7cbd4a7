// The plugin's figures of GPUs: those of its panel, and the two series that it draws above a trace.
#pragma once
#include "analysis/time/overview.h"
#include "model/plugin_trace.h"
#include "plugin_compat/steps.h"
#include "plugin_compat/tensor_cores.h"

namespace tprof {

void describe_gpu(GpuFigures& gpu, const PluginDevice& device);

// Figures of every device that a kernel names. Throws Error if the plugin drops the file.
std::vector<GpuFigures> plugin_gpu_figures(const Model& model, const PluginTrace& trace, const PluginSteps& steps,
                                           const PluginTensorCores& tensor_cores);

struct PluginGpuSeries {
  struct Stretch {
    PluginRange time;
    double value;  // 0 to 1
  };
  u32 device;
  std::vector<Stretch> utilization;    // stretches of PluginSteps::span, see model/gpu/series.h
  std::vector<Stretch> sm_efficiency;  // between consecutive starts and ends of kernels, while any runs
};
std::vector<PluginGpuSeries> plugin_gpu_series(const Model& model, const PluginTrace& trace, const PluginSteps& steps);

}  // namespace tprof
