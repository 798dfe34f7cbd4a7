// The tables of `tprof stats`: operators as torch.profiler's key_averages shows them, kernels, memory and modules; or,
// by the plugin's rules, the columns and the rounding of torch_tb_profiler.
//
// Keys are those of the figures that torch_tb_profiler names (device_self_duration, tc_eligible ...).
#pragma once
#include "analysis/kernels.h"
#include "analysis/memory.h"
#include "analysis/module_tree.h"
#include "analysis/plugin_memory.h"
#include "analysis/plugin_modules.h"
#include "report/table.h"

namespace tprof {

Table operators_table(const Model& model, const Operators& operators, OperatorKey key, Rules rules);
Table kernels_table(const Kernels& kernels, bool by_op, Rules rules);
Table memory_table(const Model& model, const OpTree& tree);
Table memory_events_table(const Model& model, const OpTree& tree);
// A tree. "mean_duration": of a call, on the GPU if it did anything there, else on the host: what a flame graph shows.
Table modules_table(const ModuleTree& modules, bool has_device);
// The same by class of module: each moment of modules inside modules of their class counts once.
Table module_classes_table(const Model& model, const ModuleTree& modules, bool has_device);

// By device: {"peak_bytes", "peak_at", "points": [[at, allocated, reserved]]}, times in us from the span's begin.
Json memory_curves_json(const Model& model);

// The plugin's own, in its units: allocations, modules; curves as {"peak", "points": [[ms, MB, MB]]}, drawn as steps
// (the plugin thins more than 10240 points; here all are).
Table plugin_memory_events_table(const PluginMemory& memory);
Json plugin_memory_curves_json(const PluginMemory& memory);
Table plugin_modules_table(const std::vector<PluginModule>& modules);

Table lightning_table(const std::vector<PluginModule>& modules, bool has_device);  // ours

}  // namespace tprof
