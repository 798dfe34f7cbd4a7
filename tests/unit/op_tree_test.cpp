// Operator trees and the tables over them: rules, and random trees against a reference that looks at every microsecond.
#include "analysis/basis/op_tree.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/tables/kernels.h"
#include "analysis/tables/memory.h"
#include "analysis/tables/module_tree.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

std::map<std::string, OperatorRow> rows_of(const Model& model, OperatorKey key = OperatorKey::name, u32 depth = 0) {
  std::map<std::string, OperatorRow> rows;
  for (OperatorRow& row : operators(model, build_op_tree(model), key, depth).rows) {
    std::string name = row.name + row.input_shape;
    for (u32 frame : row.stack) name += "|" + model.names[model.stacks[frame].text];
    rows[name] = row;
  }
  return rows;
}

TEST(OpTree, AChildsTimeIsSubtractedOnce) {
  ModelBuilder b;
  b.op("aten::linear", 0, 100);
  b.op("aten::addmm", 10, 60);
  b.call("cudaLaunchKernel", 20, 30);
  b.op("aten::t", 70, 80);
  auto rows = rows_of(b.model());
  EXPECT_EQ(rows["aten::linear"].host_self_ns, 40'000);
  EXPECT_EQ(rows["aten::linear"].host_total_ns, 100'000);
  EXPECT_EQ(rows["aten::addmm"].host_self_ns, 40'000);
  EXPECT_EQ(rows["cudaLaunchKernel"].host_self_ns, 10'000);
  EXPECT_EQ(rows["cudaLaunchKernel"].kind, NodeKind::call);
}

TEST(OpTree, AnOperatorInsideItselfCountsOnceInTotals) {
  ModelBuilder b;
  b.op("aten::to", 0, 100);
  b.op("aten::copy_", 10, 90);
  b.launch("k", 15, 200, 210);
  b.op("aten::to", 20, 50);
  b.launch("k", 30, 300, 340);
  b.op("aten::x", 60, 70);
  auto rows = rows_of(b.model());
  EXPECT_EQ(rows["aten::to"].calls, 2u);
  EXPECT_EQ(rows["aten::to"].host_total_ns, 100'000);
  EXPECT_EQ(rows["aten::to"].device_total_ns, 50'000);
  EXPECT_EQ(rows["aten::to"].device_self_ns, 40'000);
}

TEST(OpTree, AnOnlyChildOfTheSameNameIsOneCall) {
  ModelBuilder b;
  b.op("aten::add", 0, 100);
  b.op("aten::add", 5, 90);
  b.op("aten::add", 10, 80);
  b.launch("k", 20, 200, 210);
  auto rows = rows_of(b.model());
  EXPECT_EQ(rows["aten::add"].calls, 1u);
  EXPECT_EQ(rows["aten::add"].host_self_ns, 95'000);
  EXPECT_EQ(rows["aten::add"].device_self_ns, 10'000);
}

TEST(OpTree, PythonNvtxAndPlumbingAreNoRows) {
  ModelBuilder b;
  b.op("aten::outer", 0, 100);
  Event& python = b.raw().events[b.label("file.py(3): f", 10, 90)];
  PythonDetail detail{1, 0, kNone, 0};
  python.flags |= kEventPython;
  python.python = b.raw().arena.copy(detail);
  b.op("aten::is_leaf", 20, 30);
  b.op("aten::inner", 40, 60);
  u32 nvtx = b.label("range", 70, 80);
  b.raw().events[nvtx].flags |= kEventNvtx;
  auto rows = rows_of(b.model());
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows["aten::outer"].host_self_ns, 80'000);
}

TEST(OpTree, StepsAreOneRowAndTheirSelfTimeIsWhatNothingCovers) {
  ModelBuilder b;
  b.step(0, 100);
  b.op("aten::mm", 10, 30);
  b.step(100, 150);
  auto rows = rows_of(b.model());
  EXPECT_EQ(rows["ProfilerStep*"].calls, 2u);
  EXPECT_EQ(rows["ProfilerStep*"].host_self_ns, 130'000);
}

TEST(OpTree, ShapesAndStacksTellRowsApart) {
  ModelBuilder b;
  b.op("aten::mm", 0, 10, {{{2, 3}}, {{3, 4}}});
  b.op("aten::mm", 10, 20, {{{2, 3}}, {{3, 4}}});
  u32 other = b.op("aten::mm", 20, 40, {{{5}}});
  u32 outer = b.stack("main.py(9): main"), inner = b.stack("model.py(4): forward");
  b.raw().stacks[inner].parent = outer;
  b.raw().events[other].stack = inner;
  Model model = b.model();
  auto shapes = rows_of(model, OperatorKey::shape);
  EXPECT_EQ(shapes["aten::mm[[2, 3], [3, 4]]"].calls, 2u);
  EXPECT_EQ(shapes["aten::mm[[5]]"].calls, 1u);
  auto stacks = rows_of(model, OperatorKey::stack);
  EXPECT_EQ(stacks["aten::mm|model.py(4): forward|main.py(9): main"].calls, 1u);
  EXPECT_EQ(rows_of(model, OperatorKey::stack, 1)["aten::mm|model.py(4): forward"].calls, 1u);
  auto both = rows_of(model, OperatorKey::shape_stack);
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(both["aten::mm[[2, 3], [3, 4]]"].calls, 2u);
  EXPECT_EQ(both["aten::mm[[5]]|model.py(4): forward|main.py(9): main"].calls, 1u);
  EXPECT_TRUE(rows_of(model)["aten::mm"].has_stack);
}

TEST(OpTree, EligibilityComesFromChildrenAndUseFromKernels) {
  ModelBuilder b;
  b.op("MyBackward", 0, 100);
  b.op("aten::mm", 10, 90);
  b.launch("ampere_fp16_s16816gemm", 20, 200, 230);
  b.launch("reduce_kernel", 40, 300, 310);
  b.op("aten::relu", 100, 110);
  auto rows = rows_of(b.model());
  EXPECT_TRUE(rows["MyBackward"].eligible);
  EXPECT_FALSE(rows["aten::relu"].eligible);
  EXPECT_DOUBLE_EQ(rows["aten::mm"].tensor_self_ratio(), 0.75);
  EXPECT_DOUBLE_EQ(rows["MyBackward"].tensor_total_ratio(), 0.75);
}

TEST(OpTree, WorkOfNoOperatorIsCountedNotLost) {
  ModelBuilder b;
  b.op("aten::mm", 0, 10);
  b.kernel("k", 20, 50);
  Model model = b.model();
  Operators all = operators(model, build_op_tree(model), OperatorKey::name);
  EXPECT_EQ(all.unattributed_ns, 30'000);
  EXPECT_EQ(all.device_self_ns, 30'000);
}

TEST(Memory, BelongsToTheInnermostOperatorOnItsThread) {
  ModelBuilder b;
  b.op("aten::linear", 0, 100);
  b.op("aten::empty", 10, 20);
  b.op("aten::other", 0, 100, {}, 2);
  b.memory(15, 0x1000, 512, 512);
  b.memory(50, 0x1000, -512, 0);
  b.memory(60, 0x2000, 64, 64, 0, 0);
  b.memory(150, 0x2000, -64, 0, 0, 0);
  Model model = b.model();
  auto rows = rows_of(model);
  MemoryDevice cpu{0, -1}, gpu{kCudaDeviceType, 0};
  EXPECT_EQ(rows["aten::empty"].memory[gpu].self_increase_bytes, 512);
  EXPECT_EQ(rows["aten::linear"].memory[gpu].self_increase_bytes, -512);
  EXPECT_EQ(rows["aten::linear"].memory[gpu].increase_bytes, 0);
  EXPECT_EQ(rows["aten::linear"].memory[gpu].allocations, 1u);
  EXPECT_EQ(rows["aten::linear"].memory[cpu].self_allocated_bytes, 64);
  EXPECT_TRUE(rows["aten::other"].memory.empty());
  auto blocks = memory_blocks(model, build_op_tree(model));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].released_ns - blocks[0].allocated_ns, 35'000);
  EXPECT_EQ(blocks[1].released_ns, 150'000);
}

TEST(Memory, ReleasesOfEarlierBlocksHaveNoAllocation) {
  ModelBuilder b;
  b.memory(5, 0x1, -100, 0);
  b.memory(10, 0x1, 100, 100);
  Model model = b.model();
  auto blocks = memory_blocks(model, build_op_tree(model));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].bytes, 100);
  EXPECT_EQ(blocks[0].allocated_ns, MemoryBlock::kUnseen);
  EXPECT_EQ(blocks[1].released_ns, MemoryBlock::kUnseen);
}

TEST(Memory, ABlockEndsAtTheLatestWhereItsAddressIsGivenAgain) {
  ModelBuilder b;
  b.memory(10, 0xa, 100, 100);
  b.memory(20, 0xa, 50, 50);
  Model model = b.model();
  auto blocks = memory_blocks(model, build_op_tree(model));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].released_ns, 20'000);
  EXPECT_EQ(blocks[1].released_ns, MemoryBlock::kUnseen);
}

TEST(Memory, WhatCouldNotBeHadIsNoAllocation) {
  ModelBuilder b;
  b.op("aten::empty", 0, 100);
  b.memory(10, 0, 1ll << 35, 0);
  b.memory(20, 0xa, 64, 64);
  Model model = b.model();
  model.memory[0].flags = kMemoryOutOfMemory;
  MemoryUse use = rows_of(model)["aten::empty"].memory[{kCudaDeviceType, 0}];
  EXPECT_EQ(use.increase_bytes, 64);
  EXPECT_EQ(use.allocated_bytes, 64);
  EXPECT_EQ(use.allocations, 1u);
}

TEST(Memory, AThinnedCurveKeepsItsPeak) {
  ModelBuilder b;
  for (int i = 0; i < 10'000; i++) b.memory(i, 0x100 + u64(i), 1, i == 7777 ? 1'000'000 : u64(i % 50));
  Model model = b.model();
  auto curve = memory_curves(model, 100).begin()->second;
  EXPECT_LE(curve.points.size(), 100u);
  EXPECT_EQ(curve.peak.ns, 7'777'000);
  EXPECT_TRUE(std::any_of(curve.points.begin(), curve.points.end(),
                          [](const MemoryPoint& p) { return p.allocated_bytes == 1'000'000; }));
}

TEST(Kernels, MeansAreWeightedByDurationOverWhatIsKnown) {
  ModelBuilder b;
  b.op("aten::mm", 0, 100);
  u32 first = b.launch("k", 10, 200, 210), second = b.launch("k", 20, 300, 330), third = b.launch("k", 30, 400, 500);
  b.raw().gpu[first].occupancy = 20;
  b.raw().gpu[second].occupancy = 60;
  b.raw().gpu[first].blocks_per_sm = 1;
  (void)third;
  Model model = b.model();
  auto rows = kernels_by_name(model, RuleSet::tprof).rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows[0].occupancy, 50);
  EXPECT_DOUBLE_EQ(rows[0].blocks_per_sm, 1);
  EXPECT_EQ(rows[0].total_ns, 140'000);
  EXPECT_EQ(rows[0].max_ns, 100'000);
  EXPECT_EQ(rows[0].min_ns, 10'000);
  auto plugin = kernels_by_name(model, RuleSet::plugin).rows;  // counts what is not known as 0
  EXPECT_NEAR(plugin[0].occupancy, (20.0 * 10 + 60 * 30) / 140, 1e-9);
  auto by_op = kernels_by_op(model, build_op_tree(model)).rows;
  ASSERT_EQ(by_op.size(), 1u);
  EXPECT_EQ(by_op[0].op, "aten::mm");
}

TEST(Modules, TimesOfForwardAndBackwardByPlace) {
  ModelBuilder b;
  PythonDetail net{1, 0, 0, 0}, linear{2, 1, 1, 0};
  auto module = [&](const char* name, const PythonDetail& detail, i64 begin, i64 end) {
    u32 event = b.label(name, begin, end);
    Event& e = b.raw().events[event];
    e.flags |= kEventPython;
    e.python = b.raw().arena.copy(detail);
  };
  b.raw().modules.resize(2);
  module("nn.Module: Net_0", net, 0, 100);
  module("nn.Module: Linear_0", linear, 10, 50);
  b.op("aten::linear", 20, 40);
  b.launch("k", 25, 200, 210);
  b.op("aten::relu", 60, 70);
  b.op("autograd::engine::evaluate_function: AddmmBackward0", 110, 150, {}, 2);
  b.op("AddmmBackward0", 115, 145, {}, 2);
  b.launch("k", 120, 300, 330, 2);
  Model model = b.model();
  auto index = [&](const std::string& name) {
    for (u32 i = 0; i < model.events.size(); i++)
      if (model.name_of(model.events[i]) == name) return i;
    return kNone;
  };
  model.pairs.push_back({index("aten::linear"), index("AddmmBackward0")});
  ModuleTree tree = module_tree(model, build_op_tree(model));
  ASSERT_EQ(tree.places.size(), 2u);
  const ModulePlace &outer = tree.places[0], &inner = tree.places[1];
  EXPECT_EQ(outer.name, "Net_0");
  EXPECT_EQ(outer.operators, 1u);
  EXPECT_EQ(outer.host_total_ns, 100'000);
  EXPECT_EQ(outer.host_self_ns, 50'000);
  EXPECT_EQ(outer.device_self_ns, 0);
  EXPECT_EQ(outer.device_total_ns, 10'000);
  EXPECT_EQ(inner.name, "Linear_0");
  EXPECT_EQ(inner.parent, 0);
  EXPECT_EQ(inner.device_self_ns, 10'000);
  EXPECT_EQ(inner.backward_host_ns, 40'000);
  EXPECT_EQ(inner.backward_device_ns, 30'000);
  EXPECT_EQ(outer.backward_device_ns, 30'000);
}

// --- random trees against an obvious reference

struct Range {
  std::string name;
  i64 begin, end;  // us
  u32 tid;
  bool is_call;
  i64 kernel_us = 0;
  int parent = -1, children = 0;  // as generated
};

struct Forest {
  std::mt19937 random;
  std::vector<Range> ranges;

  i64 pick(i64 least, i64 most) { return std::uniform_int_distribution<i64>(least, most)(random); }

  void grow(i64 begin, i64 end, u32 tid, int parent, int depth) {
    for (i64 at = begin + pick(0, 5); at < end && depth < 8;) {
      Range range{"aten::" + std::string(1, char('a' + pick(0, 3))), at, std::min(end, at + pick(1, 60)), tid, false};
      range.is_call = parent >= 0 && pick(0, 3) == 0;
      if (range.is_call) {
        range.name = "cudaLaunchKernel";
        range.kernel_us = pick(0, 1) ? pick(1, 30) : 0;
      }
      range.parent = parent;
      if (parent >= 0) ranges[static_cast<size_t>(parent)].children++;
      int self = static_cast<int>(ranges.size());
      ranges.push_back(range);
      if (!range.is_call) grow(range.begin, range.end, tid, self, depth + 1);
      at = range.end + pick(0, 10);
    }
  }

  Model build() {
    ModelBuilder b;
    i64 gpu = 10'000;
    for (const Range& r : ranges) {
      if (!r.is_call) {
        b.op(r.name, r.begin, r.end, {}, r.tid);
        continue;
      }
      u32 call = b.call(r.name, r.begin, r.end, r.tid);
      if (r.kernel_us) b.kernel("k", gpu, gpu + r.kernel_us, call);
      gpu += r.kernel_us;
    }
    return b.model();
  }
};

struct Sums {
  u64 calls = 0;
  i64 self = 0, total = 0, device_self = 0, device_total = 0;
  bool operator==(const Sums&) const = default;
};

// Looks at each microsecond of each thread: what is innermost has it as its own, every name that is open in total.
std::map<std::string, Sums> reference(const std::vector<Range>& ranges, i64 end) {
  std::map<std::string, Sums> sums;
  auto add_open = [&](u32 tid, i64 at, i64 Sums::*self, i64 Sums::*total, i64 amount, bool calls) {
    std::map<std::string, bool> open;
    const Range* innermost = nullptr;
    for (const Range& r : ranges)
      if (r.tid == tid && r.begin <= at && at < r.end && (calls || !r.is_call)) {
        open[r.name] = true;
        innermost = &r;  // parents are generated before their children
      }
    if (innermost) sums[innermost->name].*self += amount;
    for (auto& [name, yes] : open) sums[name].*total += amount;
  };
  for (u32 tid : {1u, 2u})
    for (i64 at = 0; at < end; at++) add_open(tid, at, &Sums::self, &Sums::total, 1000, true);
  for (const Range& r : ranges) {
    if (r.kernel_us) add_open(r.tid, r.begin, &Sums::device_self, &Sums::device_total, r.kernel_us * 1000, false);
    const Range* parent = r.parent < 0 ? nullptr : &ranges[static_cast<size_t>(r.parent)];
    bool doubled = parent && parent->name == r.name && parent->children == 1 && !r.is_call;
    sums[r.name].calls += !doubled;
  }
  return sums;
}

TEST(OpTree, RandomTreesEqualAReferenceThatLooksAtEveryMicrosecond) {
  constexpr i64 kEnd = 600;
  for (u32 seed = 0; seed < 60; seed++) {
    Forest forest;
    forest.random.seed(seed);
    forest.grow(0, kEnd, 1, -1, 0);
    forest.grow(0, kEnd, 2, -1, 0);
    std::map<std::string, Sums> got;
    i64 busy = 0;
    for (auto& [name, row] : rows_of(forest.build())) {
      got[name] = {row.calls, row.host_self_ns, row.host_total_ns, row.device_self_ns, row.device_total_ns};
      busy += row.host_self_ns;
    }
    auto expected = reference(forest.ranges, kEnd);
    for (auto& [name, sums] : expected) {
      EXPECT_EQ(got[name].calls, sums.calls) << name << " seed " << seed;
      EXPECT_EQ(got[name].self, sums.self) << name << " seed " << seed;
      EXPECT_EQ(got[name].total, sums.total) << name << " seed " << seed;
      EXPECT_EQ(got[name].device_self, sums.device_self) << name << " seed " << seed;
      EXPECT_EQ(got[name].device_total, sums.device_total) << name << " seed " << seed;
      busy -= sums.self;
    }
    EXPECT_EQ(busy, 0) << "self times sum to the time in which anything ran";
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tprof
