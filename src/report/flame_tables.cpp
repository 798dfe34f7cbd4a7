#include "report/flame_tables.h"

#include <algorithm>
#include <cmath>

#include "report/columns.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

// A number of calls or samples per step is no whole one.
Unit unit_per_step(FlameCost cost) {
  Unit unit = flame_column(cost).unit;
  return unit == Unit::count ? Unit::number : unit;
}

Value shown(double value) { return i64(std::llround(value)); }

const char* what_of(const FlameTree& tree) {
  switch (tree.source) {
    case FlameSource::sampled: return "Samples of call stacks";
    case FlameSource::python: return tree.of_calls ? "Python calls" : "Call stacks of operators";
    case FlameSource::module: return "nn.Modules";
    case FlameSource::op: return "Operators";
    case FlameSource::gpu: return "GPU work by what launched it";
  }
  return "";
}

FlameCosts sums_of(const FlameTree& tree) {
  FlameCosts out{};
  for (u32 cost = 0; cost < kFlameCosts; cost++) out[cost] = tree.sum(FlameCost(cost));
  return out;
}

// What the reader of the sums must know.
std::vector<std::string> notes_of(const FlameTree& tree) {
  std::vector<std::string> out;
  auto knows = [&](FlameCost cost) { return tree.known[size_t(cost)]; };
  if (tree.source == FlameSource::sampled)
    out.push_back("Samples of all threads in the time of the steps; the other flame graphs are of the whole span");
  if (tree.source == FlameSource::python && !tree.of_calls)
    out.push_back("No Python calls were recorded: times are those of the operators that each call stack called");
  if (knows(FlameCost::idle_ns))
    out.push_back("Idle time of all GPUs in the time of the steps, for the launch that ended it");
  if (knows(FlameCost::cpu_kept) || knows(FlameCost::gpu_kept))
    out.push_back("Bytes count where they were allocated; those kept were not released before the end of the span");
  return out;
}

}  // namespace

const FlameColumn& flame_column(FlameCost cost) {
  static constexpr FlameColumn kColumns[kFlameCosts] = {
      {nullptr, "calls", "Calls", Unit::count},
      {"samples_total", "samples_self", "Samples", Unit::count},
      {"on_cpu_total", "on_cpu_self", "Samples on CPU", Unit::count},
      {"gil_total", "gil_self", "Samples with the GIL", Unit::count},
      {"host_total_duration", "host_self_duration", "Host time", Unit::time},
      {"device_total_duration", "device_self_duration", "Device time", Unit::time},
      {"idle_total_duration", "idle_self_duration", "GPU idle", Unit::time},
      {"cpu_allocated_total", "cpu_allocated_self", "CPU allocated", Unit::bytes},
      {"cpu_kept_total", "cpu_kept_self", "CPU kept", Unit::bytes},
      {"gpu_allocated_total", "gpu_allocated_self", "GPU allocated", Unit::bytes},
      {"gpu_kept_total", "gpu_kept_self", "GPU kept", Unit::bytes},
  };
  return kColumns[u32(cost)];
}

double largest_share(const FlameCosts& costs, const FlameCosts& sums) {
  double out = 0;
  for (u32 cost = 0; cost < kFlameCosts; cost++)
    if (FlameCost(cost) != FlameCost::count && sums[cost] > 0) out = std::max(out, costs[cost] / sums[cost]);
  return out;
}

Table flame_sources_table(const std::vector<FlameTree>& trees) {
  Columns<FlameTree> c;
  c.add("source", "Source", Unit::text, 0, [](auto& r) { return flame_source_word(r.source); });
  c.add("what", "What", Unit::text, 0, [](auto& r) { return what_of(r); });
  c.add("contexts", "Contexts", Unit::count, 0, [](auto& r) { return i64(r.nodes.size()); });
  c.add("threads", "Threads", Unit::count, 1, [](auto& r) {
    return i64(std::count_if(r.nodes.begin(), r.nodes.end(), [](auto& node) { return node.parent < 0; }));
  });
  for (u32 i = 0; i < kFlameCosts; i++) {
    const FlameColumn& column = flame_column(FlameCost(i));
    auto knows = [i](auto& tree) { return tree.known[i]; };
    if (std::none_of(trees.begin(), trees.end(), knows)) continue;
    c.add(column.key ? column.key : column.self_key, column.title, column.unit, int(i),
          [i](auto& r) { return r.known[i] ? shown(r.sum(FlameCost(i))) : Value(); });
  }
  Table out = c.table("Flame graphs", trees);
  if (trees.empty()) out.footer.push_back("Flame graphs: neither stacks nor operators were recorded");
  return out;
}

Table flame_table(const Model& model, const FlameTree& tree) {
  std::vector<i32> parents;
  std::vector<double> weights;
  const FlameCosts sums = sums_of(tree);
  for (const FlameNode& node : tree.nodes) {
    parents.push_back(node.parent);
    weights.push_back(largest_share(node.total, sums));
  }
  HeaviestRows heaviest(parents, weights, kFlameRows);
  std::vector<FlameNode> rows;
  for (size_t row : heaviest.rows) rows.push_back(tree.nodes[row]);
  Columns<FlameNode> c;
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("kind", "Kind", Unit::text, 3, [](auto& r) { return flame_kind_word(r.kind); });
  c.add("thread", "Thread", Unit::count, kDataOnly,
        [&](auto& r) { return r.thread == kNone ? Value() : Value(i64(model.threads[r.thread].owner)); });
  const char* sorted = "";
  for (u32 i = 0; i < kFlameCosts; i++) {
    if (!tree.known[i]) continue;
    const FlameColumn& column = flame_column(FlameCost(i));
    if (!*sorted && column.key) sorted = column.key;
    if (column.key) c.add(column.key, column.title, column.unit, int(i), [i](auto& r) { return shown(r.total[i]); });
    c.add(column.self_key, column.key ? "Self " + std::string(column.title) : column.title, column.unit, int(i + 1),
          [i](auto& r) { return shown(r.self[i]); });
  }
  Table out = tree_table(c.table(what_of(tree), rows), heaviest.parents, heaviest.left_out);
  if (int column = out.column(sorted); column >= 0) sort_tree(out, size_t(column));
  if (rows.size() < tree.nodes.size()) out.footer.push_back(rows_left_out(rows.size(), tree.nodes.size()));
  for (std::string& note : notes_of(tree)) out.footer.push_back(std::move(note));
  return out;
}

Table flame_diff_table(const FlameDiff& diff) {
  std::vector<i32> parents;
  std::vector<double> weights;
  for (const FlameDiffNode& node : diff.nodes) {
    parents.push_back(node.parent);
    weights.push_back(std::max(largest_share(node.a_total, diff.nodes[0].a_total),
                               largest_share(node.b_total, diff.nodes[0].b_total)));
  }
  HeaviestRows heaviest(parents, weights, kFlameRows);
  std::vector<FlameDiffNode> rows;
  for (size_t row : heaviest.rows) rows.push_back(diff.nodes[row]);
  Columns<FlameDiffNode> c;
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("kind", "Kind", Unit::text, 0, [](auto& r) { return flame_kind_word(r.kind); });
  c.add("where", "", Unit::text, 0, [](auto& r) { return r.in_a == r.in_b ? "" : r.in_a ? "only in A" : "only in B"; });
  for (u32 i = 0; i < kFlameCosts; i++) {
    if (!diff.known[i]) continue;
    const FlameColumn& column = flame_column(FlameCost(i));
    const Unit unit = unit_per_step(FlameCost(i));
    auto value = [unit](double of) { return unit == Unit::number ? Value(of) : shown(of); };
    auto sides = [&](const std::string& key, const std::string& title, FlameCosts FlameDiffNode::*a,
                     FlameCosts FlameDiffNode::*b) {
      c.add("a_" + key, title + " A", unit, 0, [=](auto& r) { return r.in_a ? value((r.*a)[i]) : Value(); });
      c.add("b_" + key, title + " B", unit, 0, [=](auto& r) { return r.in_b ? value((r.*b)[i]) : Value(); });
      c.add("delta_" + key, "Change", unit, 0, [=](auto& r) { return value((r.*b)[i] - (r.*a)[i]); });
    };
    const std::string title = column.title;
    if (column.key) sides(column.key, title, &FlameDiffNode::a_total, &FlameDiffNode::b_total);
    sides(column.self_key, column.key ? "Self " + title : title, &FlameDiffNode::a_self, &FlameDiffNode::b_self);
  }
  Table out =
      tree_table(c.table("Flame graphs beside each other, per step", rows), heaviest.parents, heaviest.left_out);
  if (rows.size() < diff.nodes.size()) out.footer.push_back(rows_left_out(rows.size(), diff.nodes.size()));
  return out;
}

Json flame_diffs_json(const std::vector<FlameDiff>& diffs, const TableJson& tables) {
  Json out = Json::object();
  for (const FlameDiff& diff : diffs) out[flame_source_word(diff.source)] = tables(flame_diff_table(diff));
  return out;
}

}  // namespace tprof
