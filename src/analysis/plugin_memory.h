// Memory as torch_tb_profiler shows it: its curve and its list of allocations.
//
// Addresses are told apart by nothing but their number, whatever the device. An allocation is named by the innermost
// node around it if that is an operator, with the node around that one in front if it is an aten::empty.
#pragma once
#include <map>
#include <optional>

#include "analysis/op_tree.h"

namespace tprof {

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
  // Pairs by release; then the allocations and releases alone.
  std::map<std::string, std::vector<PluginMemoryRow>> rows;
};

// `tree`: build_plugin_tree() of the same.
PluginMemory plugin_memory(const Model& model, const PluginTrace& trace, const OpTree& tree);

}  // namespace tprof
