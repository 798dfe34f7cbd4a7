// Memory as torch_tb_profiler shows it: its curve and its list of allocations.
//
// Addresses are told apart by nothing but their number, whatever the device. An allocation is named by the innermost
// node around it if that is an operator, with the node around that one in front if it is an aten::empty.
#pragma once
#include <map>
#include <optional>

#include "analysis/tables/memory.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

struct PluginMemoryRow {
  std::string op;
  i64 bytes = 0;
  std::optional<double> allocated_us, released_us;  // since the first event; nothing: not in the trace
};

struct PluginMemoryPoint {
  double us;  // since the first event
  i64 allocated_bytes, reserved_bytes;
};

// By device: "CPU", "GPU0".
struct PluginMemory {
  std::map<std::string, std::vector<PluginMemoryPoint>> curves;  // one point for each event that states totals
  // Pairs by release; then the allocations and releases alone. Of a range: of what lies in it, as if there were nothing
  // else, but for the operators of releases.
  std::map<std::string, std::vector<PluginMemoryRow>> rows;
};

// `tree`: build_plugin_tree() of the same.
PluginMemory plugin_memory(const Model& model, const PluginTrace& trace, const OpTree& tree,
                           const MemoryRange& range = {});

// By device, then by name: what changed in a range, without rows of nothing but zeros. Calls are those that overlap it
// and whose parent was visited. What stands in two places is summed into all around both, and twice into what is in it.
std::vector<MemorySum> plugin_memory_sums(const Model& model, const PluginTrace& trace, const OpTree& tree,
                                          const MemoryRange& range = {});

// What the plugin's times count from: its first event.
i64 plugin_zero_ns(const PluginTrace& trace);
// A range in microseconds since then, as the plugin's page asks for it: in whole microseconds of the file's times.
MemoryRange plugin_range(const PluginTrace& trace, double begin_us, double end_us);

}  // namespace tprof
