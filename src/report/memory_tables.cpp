// The tables of memory of stats_tables.h.
#include <algorithm>
#include <set>
#include <tuple>

#include "report/columns.h"
#include "report/plugin_rounding.h"
#include "report/stack_text.h"
#include "report/stats_tables.h"

namespace tprof {
namespace {

constexpr size_t kCurvePoints = 2000;

double us_from_begin(const Model& model, i64 ns) { return double(ns - model.begin_ns) / 1e3; }

}  // namespace

Table memory_table(const Model& model, const OpTree& tree, const std::vector<MemorySum>& sums) {
  bool plugin = tree.rules == RuleSet::plugin;
  Table table;
  table.title = plugin ? "Memory by operator, as torch_tb_profiler counts it" : "Memory by operator";
  table.columns = {{"device", "Device", Unit::text, 0}, {"name", plugin ? "Operator Name" : "Operator", Unit::text, 0}};
  table.columns.push_back({"calls", "Calls", Unit::count, 1});
  auto size = [&](const char* key, const char* title, int leaves) {
    table.columns.push_back(
        {key, plugin ? std::string(title) + " (KB)" : title, plugin ? Unit::number : Unit::bytes, leaves});
  };
  size("size_increase", "Size Increase", 2);
  size("self_size_increase", "Self Size Increase", 0);
  table.columns.push_back({"allocation_count", "Allocation Count", Unit::count, 6});
  table.columns.push_back({"self_allocation_count", "Self Allocation Count", Unit::count, 5});
  size("allocation_size", "Allocation Size", 4);
  size("self_allocation_size", "Self Allocation Size", 3);
  auto bytes = [&](i64 value) { return plugin ? Value(plugin_rounded(double(value) / 1024)) : Value(value); };
  for (const MemorySum& row : sums)
    table.rows.push_back({row.device, row.name, i64(row.calls), bytes(row.use.increase_bytes),
                          bytes(row.use.self_increase_bytes), i64(row.use.allocations), i64(row.use.self_allocations),
                          bytes(row.use.allocated_bytes), bytes(row.use.self_allocated_bytes)});
  if (model.memory.empty()) table.footer.push_back("Memory: not recorded (run with --profile-memory)");
  auto curves = memory_curves(model);
  for (const auto& [device, curve] : curves)
    table.footer.push_back("Peak of " + device_text(device) + ": " + bytes_text(curve.peak.allocated_bytes) +
                           " allocated, " + bytes_text(curve.peak.reserved_bytes) + " reserved, " +
                           time_text(curve.peak.ns - model.begin_ns) + " after the start");
  if (!model.memory.empty() && curves.empty()) table.footer.push_back("Peak: not known (the trace states no totals)");
  u64 outside = 0;
  for (i32 node : tree.of_memory) outside += node < 0;
  if (outside)
    table.footer.push_back(std::to_string(outside) + " of " + std::to_string(model.memory.size()) +
                           " allocations and releases lie in no operator");
  return table;
}

Table memory_events_table(const Model& model, const OpTree& tree, const MemoryRange& range) {
  Table table;
  table.title = "Allocations";
  table.columns = {{"device", "Device", Unit::text},
                   {"operator", "Operator", Unit::text},
                   {"caller", "Called by", Unit::text},
                   {"address", "Address", Unit::count},
                   {"size", "Size", Unit::bytes},
                   {"allocation_time", "Allocation Time", Unit::time},
                   {"release_time", "Release Time", Unit::time},
                   {"duration", "Duration", Unit::time},
                   {"stack", "Stack", Unit::count}};
  auto name_of = [&](i32 node) { return node < 0 ? Value() : model.names[tree.nodes[size_t(node)].name]; };
  auto at = [&](i64 ns) { return ns == MemoryBlock::kUnseen ? Value() : Value(ns - model.begin_ns); };
  for (const MemoryBlock& block : memory_blocks(model, tree)) {
    auto lies_in = [&](i64 ns) { return ns != MemoryBlock::kUnseen && range.holds(ns); };
    if (!lies_in(block.allocated_ns) && !lies_in(block.released_ns)) continue;
    Value caller, lasted, stack;  // the caller tells apart what many operators call: aten::empty in aten::ones
    if (block.node >= 0) caller = name_of(tree.nodes[size_t(block.node)].parent);
    if (block.allocated_ns != MemoryBlock::kUnseen && block.released_ns != MemoryBlock::kUnseen)
      lasted = block.released_ns - block.allocated_ns;
    if (u32 own = stack_of(model, tree, block)) stack = i64(own);
    table.rows.push_back({device_text(block.device), name_of(block.node), caller, i64(block.address), block.bytes,
                          at(block.allocated_ns), at(block.released_ns), lasted, stack});
  }
  return table;
}

MemoryTree memory_tree(const Model& model, const OpTree& tree) {
  std::set<std::string> names;
  for (const OperatorRow& row : operators(model, tree, OperatorKey::name).rows)
    if (!row.memory.empty()) names.insert(row.name);
  MemoryTree out;
  out.nodes = {"Operators that see memory",
               {{"name", "Operator", Unit::text},
                {"parent", "Parent", Unit::count},
                {"begin", "Begin", Unit::time},
                {"end", "End", Unit::time}}};
  out.changes = {"Allocations and releases",
                 {{"time", "Time", Unit::time},
                  {"device", "Device", Unit::text},
                  {"size", "Size", Unit::bytes},
                  {"node", "Node", Unit::count}}};
  std::vector<i64> row_of(tree.nodes.size(), -1);
  auto number = [&](i32 node) {
    while (node >= 0 && row_of[size_t(node)] < 0) node = tree.nodes[size_t(node)].parent;
    return node < 0 ? Value() : Value(row_of[size_t(node)]);
  };
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    const std::string& name = row_name_of(model, node, tree.rules);
    if (!node.listed || !names.count(name)) continue;
    out.nodes.rows.push_back({name, number(node.parent), node.begin_ns - model.begin_ns, node.end_ns - model.begin_ns});
    row_of[i] = i64(out.nodes.rows.size()) - 1;
  }
  for (size_t i = 0; i < model.memory.size(); i++) {
    const MemoryEvent& e = model.memory[i];
    if (e.failed()) continue;
    out.changes.rows.push_back(
        {e.ns - model.begin_ns, device_text({e.device_type, e.device_index}), e.bytes, number(tree.of_memory[i])});
  }
  return out;
}

Table memory_stacks_table(const Model& model, const OpTree& tree, u32 stack_depth) {
  Table table{"Call stacks of allocations",
              {{"stack", "Stack", Unit::count}, {"call_stack", "Source Location", Unit::lines}}};
  std::set<u32> stacks;
  for (const MemoryBlock& block : memory_blocks(model, tree)) stacks.insert(stack_of(model, tree, block));
  stacks.erase(0);
  for (u32 stack : stacks) table.rows.push_back({i64(stack), stack_text(model, frames_of(model, stack, stack_depth))});
  if (table.rows.empty()) table.footer.push_back("Call stacks: not recorded (run with --with-stack)");
  return table;
}

Table memory_alive_table(const Model& model, const OpTree& tree, i64 ns, u32 stack_depth) {
  struct Sum {
    i64 bytes = 0, blocks = 0;
  };
  std::map<std::tuple<MemoryDevice, std::string, u32>, Sum> sums;  // by device, operator, stack
  std::map<MemoryDevice, i64> all;
  for (const MemoryBlock& block : memory_blocks(model, tree)) {
    if (!block.alive_at(ns)) continue;
    std::string op = block.node < 0 ? "" : model.names[tree.nodes[size_t(block.node)].name];
    Sum& sum = sums[{block.device, op, stack_of(model, tree, block)}];
    sum.bytes += block.bytes;
    sum.blocks++;
    all[block.device] += block.bytes;
  }
  Table table{"Memory alive " + time_text(ns - model.begin_ns) + " after the start",
              {{"device", "Device", Unit::text},
               {"operator", "Operator", Unit::text},
               {"size", "Size", Unit::bytes},
               {"share", "Share", Unit::percent, 1},
               {"blocks", "Blocks", Unit::count, 2},
               {"stack", "Stack", Unit::count, kDataOnly},
               {"call_stack", "Source Location", Unit::lines}}};
  for (const auto& [key, sum] : sums) {
    const auto& [device, op, stack] = key;
    Value where, number;
    if (stack) where = stack_text(model, frames_of(model, stack, stack_depth)), number = i64(stack);
    table.rows.push_back({device_text(device), op.empty() ? Value() : Value(op), sum.bytes,
                          percent_of(sum.bytes, all[device]), sum.blocks, number, where});
  }
  sort_rows(table, 2);
  for (const auto& [device, curve] : memory_curves(model)) {
    auto after = std::partition_point(curve.points.begin(), curve.points.end(),
                                      [&](const MemoryPoint& p) { return p.ns <= ns; });
    if (after == curve.points.begin()) continue;
    table.footer.push_back(device_text(device) + ": " + bytes_text(std::prev(after)->allocated_bytes) +
                           " allocated then; " + bytes_text(all[device]) + " of blocks in the trace");
  }
  return table;
}

Json memory_curves_json(const Model& model) {
  Json out = Json::object();
  for (const auto& [device, curve] : memory_curves(model, kCurvePoints)) {
    Json points = Json::array();
    for (const MemoryPoint& p : curve.points)
      points.push_back({us_from_begin(model, p.ns), p.allocated_bytes, p.reserved_bytes});
    out[device_text(device)] = {{"peak_bytes", curve.peak.allocated_bytes},
                                {"peak_at", us_from_begin(model, curve.peak.ns)},
                                {"points", points}};
  }
  return out;
}

}  // namespace tprof
