// How busy GPUs were over time, as tables: `tprof stats --by utilization`.
//
// Times count from the span's begin (by the plugin's rules: from its first event), in ns here and in us in CSV and
// JSON. Ours are percent, the plugin's 0 to 1 as in its counters.
#pragma once
#include "model/gpu/series.h"
#include "plugin_compat/gpus.h"
#include "report/table.h"

namespace tprof {

// A row for each stretch of each GPU.
Table gpu_series_table(const Model& model);

Table plugin_utilization_table(const PluginTrace& trace, const std::vector<PluginGpuSeries>& series);
Table plugin_sm_efficiency_table(const PluginTrace& trace, const std::vector<PluginGpuSeries>& series);

}  // namespace tprof
