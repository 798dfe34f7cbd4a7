// Flame graphs: who gets what cost, and that nothing is lost or counted twice.
#include "analysis/tables/flame.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/tables/kernels.h"
#include "analysis/tables/operators.h"
#include "analysis/time/python_samples.h"
#include "report/flame_tables.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

using Nodes = std::map<std::string, FlameNode>;

struct Trees {
  explicit Trees(const Model& m, bool steps_only = false)
      : model(m),
        ops(build_op_tree(m)),
        with_python(build_op_tree(m, PythonNodes::all)),
        windows(windows_of(m)),
        classes(m),
        waits(m, classes),
        timelines(m, classes, waits),
        lanes(idle(m, windows, timelines)),
        all(flame_trees({m, ops, with_python, windows, lanes, steps_only})) {}

  const FlameTree* of(FlameSource source) const {
    for (const FlameTree& tree : all)
      if (tree.source == source) return &tree;
    return nullptr;
  }
  // By path below the thread: "thread 1/a.py(3): f/aten::mm".
  Nodes nodes(FlameSource source) const {
    Nodes out;
    std::vector<std::string> paths;
    const FlameTree* tree = of(source);
    if (!tree) return out;
    for (const FlameNode& node : tree->nodes) {
      paths.push_back((node.parent < 0 ? "" : paths[size_t(node.parent)] + "/") + node.name);
      out[paths.back()] = node;
    }
    return out;
  }

  const Model& model;
  OpTree ops, with_python;
  Windows windows;
  NameClasses classes;
  Waits waits;
  HostTimelines timelines;
  std::vector<IdleLane> lanes;
  std::vector<FlameTree> all;
};

double self(const FlameNode& node, FlameCost cost) { return node.self[size_t(cost)]; }
double total(const FlameNode& node, FlameCost cost) { return node.total[size_t(cost)]; }

// A stack of frames, the outermost first.
u32 stack(ModelBuilder& b, const std::vector<std::pair<std::string, bool>>& frames) {
  u32 at = 0;
  for (const auto& [text, native] : frames) {
    StackFrame frame;
    frame.parent = at;
    frame.text = b.name(text);
    frame.native = native;
    b.raw().stacks.push_back(frame);
    at = u32(b.raw().stacks.size()) - 1;
  }
  return at;
}

void sample(ModelBuilder& b, i64 us, u32 at, u32 flags = 0, u32 tid = 1) {
  b.raw().samples.push_back({us * 1000, b.thread(tid), at, flags});
  b.raw().sampled.hz = 100;
  b.raw().sampled.looks++;
}

u32 python(ModelBuilder& b, const std::string& name, i64 begin_us, i64 end_us, u32 module = kNone) {
  u32 event = b.label(name, begin_us, end_us);
  PythonDetail detail{event + 1, 0, module, 0};
  b.raw().events[event].flags |= kEventPython;
  b.raw().events[event].python = b.raw().arena.copy(detail);
  return event;
}

TEST(Flame, SamplesOfRecursionAreOnePathEach) {
  ModelBuilder b;
  b.step(0, 1000);
  u32 one = stack(b, {{"a.py(9): main", false}, {"a.py(2): f", false}});
  u32 two = stack(b, {{"a.py(9): main", false}, {"a.py(2): f", false}, {"a.py(2): f", false}});
  sample(b, 10, one, kSampleOnCpu);
  sample(b, 20, two, kSampleGil);
  sample(b, 30, two);
  b.raw().sampled.knows_gil = true;
  Model model = b.model();
  Trees trees(model);
  Nodes nodes = trees.nodes(FlameSource::sampled);
  const FlameNode& outer = nodes["thread 1/a.py(9): main/a.py(2): f"];
  EXPECT_EQ(self(outer, FlameCost::samples), 1);
  EXPECT_EQ(total(outer, FlameCost::samples), 3);
  EXPECT_EQ(total(outer, FlameCost::on_cpu), 1);
  EXPECT_EQ(total(outer, FlameCost::gil), 1);
  EXPECT_EQ(self(nodes["thread 1/a.py(9): main/a.py(2): f/a.py(2): f"], FlameCost::samples), 2);
  EXPECT_EQ(total(nodes["thread 1"], FlameCost::host_ns), 3 * sample_period_ns(model.sampled));
}

TEST(Flame, NativeFramesStandInsideOfPythonAndEachThreadHasItsOwn) {
  ModelBuilder b;
  b.step(0, 1000);
  u32 at = stack(b, {{"a.py(9): main", false}, {"libtorch.so: mm", true}, {"a.py(5): hook", false}});
  sample(b, 10, at);
  sample(b, 10, at, 0, 2);
  sample(b, 20, 0, 0, 2);  // its stack was lost
  Model model = b.model();
  Nodes nodes = Trees(model).nodes(FlameSource::sampled);
  EXPECT_EQ(nodes["thread 1/a.py(9): main/libtorch.so: mm"].kind, FlameKind::native);
  EXPECT_EQ(self(nodes["thread 2/a.py(9): main/libtorch.so: mm/a.py(5): hook"], FlameCost::samples), 1);
  EXPECT_EQ(total(nodes["thread 2"], FlameCost::samples), 2);
  EXPECT_EQ(nodes["thread 2/(no stack)"].kind, FlameKind::outside);
}

TEST(Flame, SamplesCountInTheTimeOfTheStepsAsInTheTableOfFunctions) {
  ModelBuilder b;
  b.step(100, 200);
  u32 at = stack(b, {{"a.py(9): main", false}});
  for (i64 us : {50, 120, 199, 300}) sample(b, us, at);
  Model model = b.model();
  Trees trees(model);
  PythonSamples table = python_samples(model, trees.classes, trees.windows);
  EXPECT_EQ(table.samples, 2u);
  EXPECT_EQ(trees.of(FlameSource::sampled)->sum(FlameCost::samples), double(table.samples));
}

TEST(Flame, OperatorsSumToTheTableOfOperators) {
  ModelBuilder b;
  b.step(0, 400);
  b.op("aten::linear", 10, 100);
  b.op("aten::mm", 20, 60);
  b.launch("gemm", 30, 200, 260);
  b.op("aten::mm", 120, 150);
  b.op("aten::mm", 10, 30, {}, 2);
  b.launch("gemm", 15, 300, 310, 2, 9);
  Model model = b.model();
  Trees trees(model);
  std::map<std::string, double> host, device, calls;
  for (const FlameNode& node : trees.of(FlameSource::op)->nodes) {
    host[node.name] += self(node, FlameCost::host_ns);
    device[node.name] += self(node, FlameCost::device_ns);
    calls[node.name] += self(node, FlameCost::count);
  }
  Operators table = operators(model, trees.ops, OperatorKey::name);
  ASSERT_EQ(table.rows.size(), 4u);  // and the launches
  for (const OperatorRow& row : table.rows) {
    EXPECT_EQ(host[row.name], double(row.host_self_ns)) << row.name;
    EXPECT_EQ(device[row.name], double(row.device_self_ns)) << row.name;
    EXPECT_EQ(calls[row.name], double(row.calls)) << row.name;
  }
}

TEST(Flame, LanesAreWithTheirThread) {
  ModelBuilder b;
  b.op("aten::mm", 10, 30);
  b.op("aten::add", 20, 40, {}, kFirstLaneTid);
  b.raw().threads[b.thread(kFirstLaneTid)].owner = 1;
  Model model = b.model();
  Nodes nodes = Trees(model).nodes(FlameSource::op);
  EXPECT_EQ(nodes.count("thread 1/aten::add"), 1u);
  EXPECT_EQ(total(nodes["thread 1"], FlameCost::host_ns), 40'000);
}

TEST(Flame, WhatLiesInNoModuleIsOutsideAndSumsStayComplete) {
  ModelBuilder b;
  b.raw().modules.resize(2);
  python(b, "nn.Module: Net_0", 0, 100, 0);
  python(b, "nn.Module: Linear_0", 10, 60, 1);
  b.op("aten::mm", 20, 50);
  b.launch("gemm", 30, 200, 230);
  b.op("aten::add_", 110, 140);
  b.launch("add", 120, 240, 250);
  Model model = b.model();
  Trees trees(model);
  Nodes nodes = trees.nodes(FlameSource::module);
  EXPECT_EQ(total(nodes["thread 1/nn.Module: Net_0"], FlameCost::host_ns), 100'000);
  EXPECT_EQ(self(nodes["thread 1/nn.Module: Net_0/nn.Module: Linear_0"], FlameCost::host_ns), 50'000);
  EXPECT_EQ(self(nodes["thread 1/nn.Module: Net_0/nn.Module: Linear_0"], FlameCost::device_ns), 30'000);
  EXPECT_EQ(self(nodes["thread 1/(no nn.Module)"], FlameCost::device_ns), 10'000);
  EXPECT_EQ(trees.of(FlameSource::module)->sum(FlameCost::host_ns), 130'000);
}

TEST(Flame, KernelsHangOnTheStackThatLaunchedThem) {
  ModelBuilder b;
  u32 line = stack(b, {{"a.py(9): main", false}, {"a.py(3): f", false}});
  b.raw().modules.resize(1);
  python(b, "nn.Module: Net_0", 0, 100, 0);
  u32 outer = b.op("aten::linear", 10, 60);
  u32 inner = b.op("aten::mm", 20, 50);
  b.raw().events[outer].stack = b.raw().events[inner].stack = line;
  b.launch("gemm", 30, 200, 230);
  b.launch("gemm", 110, 240, 245);  // by no operator
  b.kernel("lost", 250, 251);       // by no known call
  Model model = b.model();
  Trees trees(model);
  Nodes nodes = trees.nodes(FlameSource::gpu);
  const FlameNode& kernel = nodes["thread 1/a.py(9): main/a.py(3): f/nn.Module: Net_0/aten::linear/aten::mm/gemm"];
  EXPECT_EQ(kernel.kind, FlameKind::kernel);
  EXPECT_EQ(self(kernel, FlameCost::device_ns), 30'000);
  EXPECT_EQ(self(kernel, FlameCost::count), 1);
  EXPECT_EQ(self(nodes["thread 1/gemm"], FlameCost::device_ns), 5'000);
  EXPECT_EQ(self(nodes["no known thread/(launch not known)/lost"], FlameCost::device_ns), 1'000);
  EXPECT_EQ(trees.of(FlameSource::gpu)->sum(FlameCost::device_ns),
            double(kernels_by_name(model, RuleSet::tprof).total_ns));
  Nodes stacks = trees.nodes(FlameSource::python);
  EXPECT_EQ(self(stacks["thread 1/a.py(9): main/a.py(3): f"], FlameCost::count), 1);
  EXPECT_EQ(self(stacks["thread 1/a.py(9): main/a.py(3): f"], FlameCost::device_ns), 30'000);
}

TEST(Flame, PythonCallsAreContextsOfTheGpuWhereTheyWereRecorded) {
  ModelBuilder b;
  python(b, "a.py(1): f", 0, 100);
  python(b, "a.py(7): g", 10, 90);
  b.op("aten::mm", 20, 50);
  b.launch("gemm", 30, 200, 230);
  Model model = b.model();
  Trees trees(model);
  Nodes nodes = trees.nodes(FlameSource::gpu);
  EXPECT_EQ(self(nodes["thread 1/a.py(1): f/a.py(7): g/aten::mm/gemm"], FlameCost::device_ns), 30'000);
  Nodes calls = trees.nodes(FlameSource::python);
  EXPECT_EQ(total(calls["thread 1/a.py(1): f"], FlameCost::host_ns), 100'000);
  EXPECT_EQ(self(calls["thread 1/a.py(1): f/a.py(7): g"], FlameCost::host_ns), 80'000);
}

TEST(Flame, IdleTimeIsThatOfTheLaunchThatEndedIt) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::mm", 10, 60);
  b.launch("first", 20, 100, 200);
  b.op("aten::add", 300, 360);
  b.launch("second", 310, 400, 450);
  Model model = b.model();
  Trees trees(model);
  ASSERT_EQ(trees.lanes[0].stream, kNone);
  for (FlameSource source : {FlameSource::op, FlameSource::gpu})
    EXPECT_EQ(trees.of(source)->sum(FlameCost::idle_ns), double(trees.lanes[0].idle_ns));
  Nodes nodes = trees.nodes(FlameSource::gpu);
  EXPECT_EQ(self(nodes["thread 1/aten::add/second"], FlameCost::idle_ns), 200'000);
  EXPECT_EQ(self(nodes["thread 1/aten::mm/first"], FlameCost::idle_ns), 100'000);
  EXPECT_EQ(self(nodes["no known thread/(no launch after it)"], FlameCost::idle_ns), 550'000);
}

TEST(Flame, BytesCountWhereTheyWereAllocatedAndKeptOnesWereNotReleased) {
  ModelBuilder b;
  b.op("aten::empty", 10, 30);
  b.memory(15, 0x1000, 64, 64);
  b.memory(20, 0x2000, 32, 96);
  b.op("aten::resize_", 40, 60);
  b.memory(50, 0x1000, -64, 32);
  b.memory(70, 0x3000, 8, 40);  // in no operator
  b.memory(80, 0x4000, 16, 16, 0, 0);
  Model model = b.model();
  Nodes nodes = Trees(model).nodes(FlameSource::op);
  EXPECT_EQ(self(nodes["thread 1/aten::empty"], FlameCost::gpu_allocated), 96);
  EXPECT_EQ(self(nodes["thread 1/aten::empty"], FlameCost::gpu_kept), 32);
  EXPECT_EQ(self(nodes["thread 1/aten::resize_"], FlameCost::gpu_allocated), 0);
  EXPECT_EQ(self(nodes["thread 1/(no operator)"], FlameCost::gpu_kept), 8);
  EXPECT_EQ(total(nodes["thread 1"], FlameCost::cpu_kept), 16);
}

TEST(Flame, OnlySourcesThatWereRecordedHaveTrees) {
  ModelBuilder b;
  b.op("aten::mm", 0, 10);
  Model model = b.model();
  Trees trees(model);
  ASSERT_EQ(trees.all.size(), 1u);
  EXPECT_EQ(trees.all[0].source, FlameSource::op);
  EXPECT_FALSE(trees.all[0].known[size_t(FlameCost::device_ns)]);
  EXPECT_TRUE(Trees(ModelBuilder().model()).all.empty());
}

TEST(Flame, OnlyWhatStartedInAStepCountsForDiffs) {
  ModelBuilder b;
  b.op("aten::mm", 0, 50);
  b.step(100, 200);
  b.op("aten::mm", 110, 130);
  Model model = b.model();
  EXPECT_EQ(Trees(model, true).of(FlameSource::op)->sum(FlameCost::host_ns), 100'000);
  EXPECT_EQ(Trees(model).of(FlameSource::op)->sum(FlameCost::host_ns), 150'000);
}

TEST(Flame, TheNameOfAFunctionLacksItsLine) {
  EXPECT_EQ(flame_function({"a.py(12): f(x)", FlameKind::python}), "a.py: f(x)");
  EXPECT_EQ(flame_function({"a.py: f", FlameKind::python}), "a.py: f");
  EXPECT_EQ(flame_function({"k(int): x", FlameKind::kernel}), "k(int): x");
  EXPECT_EQ(flame_function({"a.py(x): f", FlameKind::python}), "a.py(x): f");
}

TEST(Flame, LargeTreesKeepTheHeaviestContextsAndSayWhatIsLeftOut) {
  ModelBuilder b;
  for (u32 i = 0; i <= kFlameRows; i++) b.op("op" + std::to_string(i), 10 * i, 10 * i + (i == 7 ? 1 : 2));
  Model model = b.model();
  Trees trees(model);
  Table table = flame_table(model, *trees.of(FlameSource::op));
  ASSERT_EQ(table.rows.size(), kFlameRows);
  EXPECT_EQ(std::get<i64>(table.rows[0][size_t(table.column("left_out"))]), 2);
  EXPECT_EQ(std::get<i64>(table.rows[0][size_t(table.column("host_total_duration"))]),
            i64(2000 * (kFlameRows + 1) - 1000));
  for (const auto& row : table.rows) EXPECT_NE(std::get<std::string>(row[0]), "op7");
}

FlameTree tree_of(std::vector<FlameNode> nodes) {
  FlameTree tree;
  tree.nodes = std::move(nodes);
  tree.known[size_t(FlameCost::host_ns)] = true;
  for (FlameNode& node : tree.nodes) node.total = node.self;
  for (size_t i = tree.nodes.size(); i-- > 1;)
    if (tree.nodes[i].parent >= 0) tree.nodes[size_t(tree.nodes[i].parent)].total[4] += tree.nodes[i].total[4];
  return tree;
}

FlameNode node_of(const std::string& name, FlameKind kind, i32 parent, double host) {
  FlameNode node{name, kind, parent};
  node.self[size_t(FlameCost::host_ns)] = host;
  return node;
}

TEST(FlameDiff, SidesAreMeansPerStepOfTheirRunsMatchedWithoutThreadsAndLines) {
  ASSERT_EQ(size_t(FlameCost::host_ns), 4u);  // tree_of()
  FlameSide a, b;
  auto thread = [](const char* name) { return node_of(name, FlameKind::thread, -1, 0); };
  auto frame = [](const char* name, double host) { return node_of(name, FlameKind::python, 0, host); };
  a.add("one", {tree_of({thread("thread 1"), frame("a.py(3): f", 100), frame("a.py(4): f", 20)})}, 2);
  a.add("two", {tree_of({thread("thread 7"), frame("a.py(3): f", 40)})}, 1);
  b.add("one", {tree_of({thread("thread 9"), frame("a.py(8): f", 30), frame("a.py(9): g", 5)})}, 1);
  std::vector<FlameDiff> diffs = flame_diffs(a, b);
  ASSERT_EQ(diffs.size(), 1u);
  const std::vector<FlameDiffNode>& nodes = diffs[0].nodes;
  ASSERT_EQ(nodes.size(), 3u);  // all, f, g
  EXPECT_EQ(nodes[1].name, "a.py(3): f");
  EXPECT_EQ(nodes[1].a_self[4], (120 / 2 + 40) / 2.0);
  EXPECT_EQ(nodes[1].b_self[4], 30);
  EXPECT_EQ(nodes[0].a_total[4], 50);
  EXPECT_EQ(nodes[0].b_total[4], 35);
  EXPECT_FALSE(nodes[2].in_a);
  Table table = flame_diff_table(diffs[0]);
  EXPECT_EQ(table.rows[2][size_t(table.column("a_host_total_duration"))], Value());
  EXPECT_EQ(table.rows[2][size_t(table.column("where"))], Value(std::string("only in B")));
}

TEST(FlameDiff, ASourceOrCostThatOneSideLacksIsNotCompared) {
  FlameSide a, b;
  FlameTree tree = tree_of({node_of("thread 1", FlameKind::thread, -1, 5)});
  a.add("one", {tree}, 1);
  EXPECT_TRUE(flame_diffs(a, b).empty());
  tree.known = {};
  b.add("one", {tree}, 1);
  EXPECT_FALSE(flame_diffs(a, b)[0].known[4]);
}

}  // namespace
}  // namespace tprof
