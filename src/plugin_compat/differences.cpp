// Why torch_tb_profiler shows other figures than tprof for a given trace.
#include <math.h>
#include <stdio.h>

#include <algorithm>

#include "analysis/basis/printed.h"
#include "model/plugin_trace.h"
#include "plugin_compat/overview.h"

namespace tprof {
namespace {

constexpr double kSame = 0.001;  // of the larger one

bool differ(double a, double b) { return fabs(a - b) > kSame * std::max(fabs(a), fabs(b)) && fabs(a - b) >= 0.01; }

double sum_of(const StepTimes& times) {
  double sum = 0;
  for (double us : times.by) sum += us;
  return sum;
}

void compare_figures(const Overview& ours, const Overview& plugin, std::vector<std::string>& out) {
  if (ours.steps.size() != plugin.steps.size())
    out.push_back(printed("%zu steps there, %zu here", plugin.steps.size(), ours.steps.size()));
  if (differ(ours.average.us, plugin.average.us))
    out.push_back(printed("average step %.1f us there, %.1f us here", plugin.average.us, ours.average.us));
  for (u32 c = 0; c < kCategories; c++)
    if (differ(ours.average.by[c], plugin.average.by[c]))
      out.push_back(printed("%s %.1f us a step there, %.1f us here", category_text(static_cast<Category>(c)),
                            plugin.average.by[c], ours.average.by[c]));
  for (const GpuFigures& mine : ours.gpus)
    for (const GpuFigures& g : plugin.gpus) {
      if (g.device != mine.device) continue;
      if (differ(100 * g.utilization, 100 * mine.utilization))
        out.push_back(printed("GPU %u utilization %.2f %% there, %.2f %% here", g.device, 100 * g.utilization,
                              100 * mine.utilization));
      if (mine.tensor_cores >= 0 && differ(100 * g.tensor_cores, 100 * mine.tensor_cores))
        out.push_back(g.tensor_cores < 0
                          ? printed("GPU %u has no share of tensor cores there, %.2f %% here: no operator launched its "
                                    "kernels for the plugin",
                                    g.device, 100 * mine.tensor_cores)
                          : printed("GPU %u uses tensor cores %.2f %% there, %.2f %% here: its list of kernels ends in "
                                    "2021, and it leaves out kernels without operator",
                                    g.device, 100 * g.tensor_cores, 100 * mine.tensor_cores));
    }
}

void give_reasons(const Model& model, const PluginTrace& trace, const Overview& plugin, std::vector<std::string>& out) {
  u64 gpu_steps = 0, gpu_labels = 0, runtime = 0, hidden = 0;
  for (const PluginEvent& e : trace.events) {
    gpu_steps += e.type == PluginType::step && e.item == kNone;
    gpu_labels += e.type == PluginType::label && e.item == kNone;
    runtime += e.type == PluginType::runtime;
  }
  NameClasses classes(model);
  for (const GpuEvent& work : model.gpu) hidden += work.runs_on_gpu() && classes.work(work) == Work::communication;
  if (gpu_steps) out.push_back(printed("because it takes %zu annotations of the GPU for steps", size_t(gpu_steps)));
  if (gpu_labels)
    out.push_back(printed("because it takes %zu annotations of the GPU for work of the CPU", size_t(gpu_labels)));
  if (model.calls.size() > runtime)
    out.push_back(printed("because it ignores %zu calls of the driver API", model.calls.size() - size_t(runtime)));
  if (hidden)
    out.push_back(
        "because it finds communication by External ids only, and counts the host's enqueuing as communication");
  if (sum_of(plugin.average) > plugin.average.us * (1 + kSame))
    out.push_back("because it counts time twice where kernels and copies fill the steps completely");
}

}  // namespace

std::vector<std::string> differences(const Model& model, const PluginTrace& trace, const Overview& ours,
                                     const Overview& plugin) {
  std::vector<std::string> out;
  compare_figures(ours, plugin, out);
  if (!out.empty()) give_reasons(model, trace, plugin, out);
  return out;
}

}  // namespace tprof
