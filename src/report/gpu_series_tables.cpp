#include "report/gpu_series_tables.h"

#include "report/gpu_tables.h"

namespace tprof {
namespace {

Table series_table(const char* title, std::vector<Column> values) {
  Table out{title, {{"gpu", "GPU", Unit::count}, {"begin", "Begin", Unit::time}, {"end", "End", Unit::time, 1}}};
  out.columns[0].tells_apart = out.columns[1].tells_apart = true;
  out.columns.insert(out.columns.end(), values.begin(), values.end());
  return out;
}

Table plugin_table(const PluginTrace& trace, const std::vector<PluginGpuSeries>& series, const char* title,
                   Column value, std::vector<PluginGpuSeries::Stretch> PluginGpuSeries::*field) {
  Table out = series_table(title, {std::move(value)});
  double first = trace.events.empty() ? 0 : trace.events.front().ts_us;
  for (const PluginGpuSeries& one : series)
    for (const auto& [time, share] : one.*field)
      out.rows.push_back({i64(one.device), whole_ns(time.begin - first), whole_ns(time.end - first), share});
  if (series.empty()) out.footer.push_back(kNoGpuWork);
  return out;
}

}  // namespace

Table gpu_series_table(const Model& model) {
  Table out = series_table("GPU utilization over time", {{"utilization", "GPU Utilization", Unit::percent},
                                                         {"sm_efficiency", "Est. SM Efficiency", Unit::percent}});
  for (const GpuSeries& series : gpu_series(model))
    for (const GpuSeries::Stretch& s : series.stretches)
      out.rows.push_back({i64(series.device), s.begin_ns - model.begin_ns, s.end_ns - model.begin_ns,
                          100 * s.utilization, s.sm_efficiency < 0 ? Value() : Value(100 * s.sm_efficiency)});
  if (out.rows.empty()) out.footer.push_back(kNoGpuWork);
  return out;
}

Table plugin_utilization_table(const PluginTrace& trace, const std::vector<PluginGpuSeries>& series) {
  return plugin_table(trace, series, "GPU Utilization, as torch_tb_profiler draws it",
                      {"utilization", "GPU Utilization", Unit::number}, &PluginGpuSeries::utilization);
}

Table plugin_sm_efficiency_table(const PluginTrace& trace, const std::vector<PluginGpuSeries>& series) {
  return plugin_table(trace, series, "Est. SM Efficiency, as torch_tb_profiler draws it",
                      {"sm_efficiency", "Est. SM Efficiency", Unit::number}, &PluginGpuSeries::sm_efficiency);
}

}  // namespace tprof
