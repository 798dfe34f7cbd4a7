// Call trees, source lines, two trees beside each other, and tables whose rows form a tree.
#include "analysis/tables/call_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/diff/tree.h"
#include "analysis/tables/line_costs.h"
#include "analysis/tables/module_tree.h"
#include "report/call_tables.h"
#include "report/tree_table.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

// By path: "ProfilerStep*/aten::mm".
std::map<std::string, CallNode> by_path(const CallTree& tree) {
  std::map<std::string, CallNode> out;
  std::vector<std::string> paths;
  for (const CallNode& node : tree.nodes) {
    std::string outer = node.parent < 0 ? "" : paths[size_t(node.parent)];
    paths.push_back(outer + (outer.empty() ? "" : "/") + node.name);
    out[paths.back()] = node;
  }
  return out;
}

CallTree tree_of(const Model& model) { return call_tree(model, build_op_tree(model, PythonNodes::all)); }

// A Python call of a module or function, as readers make them.
u32 python(ModelBuilder& b, const std::string& name, i64 begin_us, i64 end_us, u32 module = kNone) {
  u32 event = b.label(name, begin_us, end_us);
  PythonDetail detail{event + 1, 0, module, 0};
  b.raw().events[event].flags |= kEventPython;
  b.raw().events[event].python = b.raw().arena.copy(detail);
  return event;
}

TEST(CallTree, CallsOfEqualPathAreOneAndStepsAreOne) {
  ModelBuilder b;
  for (i64 t : {0, 100}) {
    b.step(t, t + 90);
    b.op("aten::linear", t + 10, t + 50);
    b.op("aten::mm", t + 20, t + 40);
    b.op("aten::mm", t + 60, t + 70);
  }
  auto nodes = by_path(tree_of(b.model()));
  ASSERT_EQ(nodes.size(), 5u);  // the thread, the steps, two mm, one linear
  EXPECT_EQ(nodes["ProfilerStep*"].costs.calls, 2);
  EXPECT_EQ(nodes["ProfilerStep*/aten::linear"].costs.host_self_ns, 40'000);
  EXPECT_EQ(nodes["ProfilerStep*/aten::linear/aten::mm"].costs.host_total_ns, 40'000);
  EXPECT_EQ(nodes["ProfilerStep*/aten::mm"].costs.host_total_ns, 20'000);
  EXPECT_EQ(nodes[""].costs.host_total_ns, 180'000);  // the thread: what ran on it
}

TEST(CallTree, PythonCallsHaveTheWorkThatTheyLaunchThemselves) {
  ModelBuilder b;
  python(b, "a.py(1): f", 0, 100);
  b.op("aten::mm", 10, 40);
  b.launch("k", 20, 200, 230);
  b.launch("k", 50, 300, 307);
  auto nodes = by_path(tree_of(b.model()));
  EXPECT_EQ(nodes["a.py(1): f"].costs.device_self_ns, 7'000);
  EXPECT_EQ(nodes["a.py(1): f"].costs.device_total_ns, 37'000);
  EXPECT_EQ(nodes["a.py(1): f/aten::mm"].costs.device_total_ns, 30'000);
  EXPECT_EQ(nodes["a.py(1): f"].costs.host_self_ns, 65'000);  // less the operator and its own launch
}

TEST(CallTree, BackwardIsChargedToTheForwardCallAndToAllAroundIt) {
  ModelBuilder b;
  b.label("forward", 0, 100);
  u32 forward = b.op("aten::mm", 10, 40);
  b.op("autograd::engine::evaluate_function: MmBackward0", 200, 260, {}, 2);
  u32 backward = b.op("MmBackward0", 210, 250, {}, 2);
  b.launch("k", 220, 300, 330, 2);
  b.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 260, 275, {}, 2);
  b.raw().pairs.push_back({forward, backward});
  Model model = b.model();
  for (ForwardBackward& pair : model.pairs)  // as the events are sorted now
    for (u32 i = 0; i < model.events.size(); i++) {
      if (model.name_of(model.events[i]) == "aten::mm") pair.forward = i;
      if (model.name_of(model.events[i]) == "MmBackward0") pair.backward = i;
    }
  CallTree tree = tree_of(model);
  auto nodes = by_path(tree);
  EXPECT_EQ(nodes["forward/aten::mm"].costs.backward_host_ns, 60'000);
  EXPECT_EQ(nodes["forward/aten::mm"].costs.backward_device_ns, 30'000);
  EXPECT_EQ(nodes["forward"].costs.backward_host_ns, 60'000);
  EXPECT_EQ(nodes["forward"].costs.host_total_ns, 100'000);  // its own time stays what it is
  EXPECT_EQ(tree.uncharged_ns, 15'000);
  EXPECT_EQ(nodes["autograd::engine::evaluate_function: MmBackward0"].costs.host_total_ns, 60'000);
}

TEST(CallTree, OfStepsHasNeitherThemNorWhatBeginsBesideThem) {
  ModelBuilder b;
  b.op("aten::before", 0, 5);
  b.step(10, 90);
  b.op("aten::mm", 20, 40);
  b.op("aten::mm", 20, 40, {}, 2);
  b.op("aten::behind", 95, 99);
  Model model = b.model();
  auto nodes = by_path(step_call_tree(model, build_op_tree(model), windows_of(model)));
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes["aten::mm"].costs.calls, 2);  // of both threads
}

TEST(LineCosts, SelfIsOfTheInnermostLineAndTotalOfAllOnTheStackOnce) {
  ModelBuilder b;
  u32 outer = b.stack("train.py(9): main");
  u32 again = b.stack("train.py(9): main");  // a recursion
  b.raw().stacks[again].parent = outer;
  u32 inner = b.stack("net.py(3): forward");
  b.raw().stacks[inner].parent = again;
  u32 mm = b.op("aten::mm", 0, 30);
  u32 within = b.op("aten::t", 10, 15);  // has no stack of its own
  u32 add = b.op("aten::add", 40, 50);
  u32 unknown = b.op("aten::sub", 60, 64);
  b.launch("k", 20, 200, 220);
  b.raw().events[mm].stack = inner;
  b.raw().events[add].stack = outer;
  (void)within, (void)unknown;
  Model model = b.model();
  CostsByLine found = line_costs(model, build_op_tree(model, PythonNodes::all));
  std::map<std::string, LineCosts> lines;
  for (const LineCosts& row : found.rows) lines[model.names[row.name]] = row;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(found.of_calls);
  EXPECT_EQ(lines["net.py(3): forward"].host_self_ns, 30'000);
  EXPECT_EQ(lines["net.py(3): forward"].self_calls, 1u);
  EXPECT_EQ(lines["net.py(3): forward"].device_self_ns, 20'000);
  EXPECT_EQ(lines["train.py(9): main"].host_self_ns, 10'000);
  EXPECT_EQ(lines["train.py(9): main"].host_total_ns, 40'000);
  EXPECT_EQ(lines["train.py(9): main"].device_total_ns, 20'000);
  EXPECT_EQ(lines["train.py(9): main"].calls, 2u);
  EXPECT_EQ(found.host_ns, 44'000);
  EXPECT_EQ(found.without_line_ns, 4'000);
}

TEST(LineCosts, PythonCallsStandForStacksThatAreNotThere) {
  ModelBuilder b;
  python(b, "train.py(1): main", 0, 100);
  python(b, "<built-in method mm>", 10, 50);
  b.op("aten::mm", 20, 40);
  Model model = b.model();
  CostsByLine found = line_costs(model, build_op_tree(model, PythonNodes::all));
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_TRUE(found.of_calls);
  EXPECT_EQ(model.names[found.rows[0].name], "train.py(1): main");
  EXPECT_EQ(found.rows[0].host_self_ns, 20'000);
}

CallTree small_tree(const std::vector<std::pair<std::string, i32>>& nodes, double host_ns) {
  CallTree out;
  for (const auto& [name, parent] : nodes) {
    CallNode node{name, NodeKind::op, parent};
    node.costs.calls = 1;
    node.costs.host_total_ns = node.costs.host_self_ns = host_ns;
    out.nodes.push_back(node);
  }
  return out;
}

TEST(DiffTree, SiblingsComeInAsOrderAndWhatOnlyBHasBehindWhatItFollows) {
  DiffTree tree = diff_tree(small_tree({{"load", -1}, {"forward", -1}, {"mm", 1}, {"sgd", -1}}, 10),
                            small_tree({{"load", -1}, {"move", -1}, {"forward", -1}, {"bmm", 2}, {"adam", -1}}, 30));
  std::string names;
  for (const DiffNode& node : tree.nodes)
    names += node.name + (node.in_a == node.in_b ? " " : node.in_a ? "(A) " : "(B) ");
  EXPECT_EQ(names, "Step load move(B) forward bmm(B) mm(A) adam(B) sgd(A) ");
  EXPECT_EQ(tree.nodes[0].a.host_total_ns, 30);
  EXPECT_EQ(tree.nodes[0].b.host_total_ns, 120);
  const DiffNode& last = tree.nodes.back();
  EXPECT_EQ(last.a_accumulated_ns, 30);
  EXPECT_EQ(last.b_accumulated_ns, 120);
}

TEST(DiffTree, RunsAreMergedByPathWithTheirWeights) {
  CallTree sum;
  merge(sum, small_tree({{"a", -1}, {"b", 0}}, 10), {0.5, 1});
  merge(sum, small_tree({{"a", -1}, {"c", 0}}, 30), {0.5, 1});
  auto nodes = by_path(sum);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes["a"].costs.host_total_ns, 20);
  EXPECT_EQ(nodes["a"].costs.calls, 2);
  EXPECT_EQ(nodes["a/c"].costs.host_total_ns, 15);
}

Table letters() {  // a: b (d, e), c (f)
  Table table{"", {{"name", "Name", Unit::text}, {"n", "N", Unit::count}}, {}, {}};
  i64 n = 0;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) table.rows.push_back({std::string(name), ++n});
  return tree_table(std::move(table), {-1, 0, 0, 1, 1, 2});
}

std::string names_of(const Table& table) {
  std::string out;
  for (const auto& row : table.rows) out += std::get<std::string>(row[0]);
  return out;
}

TEST(TreeTable, RowsStandBehindWhatTheyHangOnAlsoWhenSorted) {
  Table table = letters();
  EXPECT_EQ(names_of(table), "abdecf");
  sort_rows(table, 1);
  EXPECT_EQ(names_of(table), "acfbed");
  size_t parent = size_t(table.column("parent")), depth = size_t(table.column("depth"));
  EXPECT_EQ(table.rows[0][parent], Value());
  EXPECT_EQ(table.rows[2][parent], Value(i64{1}));  // f on c
  EXPECT_EQ(table.rows[5][parent], Value(i64{3}));  // d on b
  EXPECT_EQ(table.rows[5][depth], Value(i64{2}));
}

TEST(TreeTable, WhatIsLeftOutIsCountedWhereItWas) {
  Table table = letters();
  limit_tree(table, 0, 3, {1, 5, 0, 0, 2, 9});  // as the rows stand: a b d e c f
  EXPECT_EQ(names_of(table), "acf");
  size_t left_out = size_t(table.column("left_out")), parent = size_t(table.column("parent"));
  EXPECT_EQ(table.rows[0][left_out], Value(i64{3}));
  EXPECT_EQ(table.rows[2][parent], Value(i64{1}));
  EXPECT_EQ(table.footer[0], "3 of 6 rows");

  table = letters();
  limit_tree(table, 2, 0, {});
  EXPECT_EQ(names_of(table), "abc");
  EXPECT_EQ(table.rows[1][left_out], Value(i64{2}));
  EXPECT_EQ(table.rows[2][left_out], Value(i64{1}));
}

TEST(TreeTable, TextIsIndented) {
  std::string text = text_of(letters(), {});
  EXPECT_NE(text.find("\na  "), text.npos);
  EXPECT_NE(text.find("\n  b  "), text.npos);
  EXPECT_NE(text.find("\n    d  "), text.npos);
}

TEST(Modules, AClassInsideItselfCountsItsTimeOnce) {
  ModelBuilder b;
  b.raw().modules.resize(3);
  u32 block = b.name("Block"), linear = b.name("Linear");
  b.raw().modules[0].class_name = b.raw().modules[1].class_name = block;
  b.raw().modules[2].class_name = linear;
  python(b, "nn.Module: Block_0", 0, 100, 0);
  python(b, "nn.Module: Block_1", 10, 60, 1);
  python(b, "nn.Module: Linear_0", 20, 50, 2);
  b.op("aten::linear", 25, 45);
  Model model = b.model();
  std::vector<ModuleClass> classes = module_classes(model, module_tree(model, build_op_tree(model)));
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].name, "Block");
  EXPECT_EQ(classes[0].modules, 2u);
  EXPECT_EQ(classes[0].host_total_ns, 100'000);
  EXPECT_EQ(classes[0].host_self_ns, 70'000);
  EXPECT_EQ(classes[1].operators, 1u);
  EXPECT_EQ(classes[1].host_total_ns, 30'000);
}

}  // namespace
}  // namespace tprof
