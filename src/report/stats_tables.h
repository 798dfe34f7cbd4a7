// The tables of `tprof stats`: operators as torch.profiler's key_averages shows them, kernels, memory and modules; or,
// by the plugin's rules, the columns and the rounding of torch_tb_profiler.
//
// Keys are those of the figures that torch_tb_profiler names (device_self_duration, tc_eligible ...).
#pragma once
#include "analysis/tables/kernels.h"
#include "analysis/tables/memory.h"
#include "analysis/tables/module_tree.h"
#include "plugin_compat/memory.h"
#include "plugin_compat/modules.h"
#include "report/table.h"

namespace tprof {

Table operators_table(const Model& model, const Operators& operators, OperatorKey key, RuleSet rules);
Table kernels_table(const Kernels& kernels, bool by_op, RuleSet rules);
Table memory_table(const Model& model, const OpTree& tree, const std::vector<MemorySum>& sums);
// Blocks that were allocated or released in the range.
Table memory_events_table(const Model& model, const OpTree& tree, const MemoryRange& range);
// The data from which sums over any range can be computed. `nodes`: all calls of the operators that memory_table()
// lists, each with the row of its parent. `changes`: each allocation (size > 0) and release with the row of the node
// open at that time. The changes in a range count for their node and, in totals, once for each name around it. The
// calls of a name are its nodes that overlap the range.
struct MemoryTree {
  Table nodes, changes;
};
MemoryTree memory_tree(const Model& model, const OpTree& tree);
// The texts of stacks, by their numbers.
Table memory_stacks_table(const Model& model, const OpTree& tree, u32 stack_depth);
// Blocks alive at a given time of the Model, summed by operator and call stack: allocated then or before, released
// later or never. Blocks that were allocated before the trace and not released in it are not known.
Table memory_alive_table(const Model& model, const OpTree& tree, i64 ns, u32 stack_depth);
// A tree. "mean_duration" is the device time of a call if it has any, else its host time, as a flame graph shows it.
Table modules_table(const ModuleTree& modules, bool has_device);
// The same by class of module: the time of a module inside another one of its class counts once.
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
