// Memory as torch_tb_profiler shows it: its curve and its list of allocations.
//
// Equal addresses are taken for the same memory even on different devices. An allocation has the name of the innermost
// node around it if that is an operator, preceded by that node's parent if it is an aten::empty.
#pragma once
#include <map>
#include <optional>

#include "analysis/tables/memory.h"
#include "plugin_compat/tree.h"

namespace tprof {

struct PluginMemoryRow {
  std::string op;
  i64 bytes = 0;
  std::optional<double> allocated_us, released_us;  // since the first event; empty: not in the trace
};

struct PluginMemoryPoint {
  double us;  // since the first event
  i64 allocated_bytes, reserved_bytes;
};

// By device: "CPU", "GPU0".
struct PluginMemory {
  std::map<std::string, std::vector<PluginMemoryPoint>> curves;  // one point for each event that states totals
  // Pairs in order of release, then allocations and releases without a partner. A range is treated as if the trace held
  // only its events, except that operators of releases are found in the whole trace.
  std::map<std::string, std::vector<PluginMemoryRow>> rows;
};

PluginMemory plugin_memory(const Model& model, const PluginTrace& trace, const OpTree& tree,
                           const MemoryRange& range = {});

// By device, then by name: the changes in a range, without rows of zeros only. Counts calls that overlap the range and
// whose parent was visited. A range in two places counts in the ancestors of both, and its descendants count twice.
std::vector<MemorySum> plugin_memory_sums(const Model& model, const PluginTrace& trace, const PluginTree& tree,
                                          const MemoryRange& range = {});

// The origin of the plugin's times: its first event.
i64 plugin_zero_ns(const PluginTrace& trace);
// A range in microseconds since then, rounded to whole microseconds of the file's times as the plugin's page does.
MemoryRange plugin_range(const PluginTrace& trace, double begin_us, double end_us);

}  // namespace tprof
