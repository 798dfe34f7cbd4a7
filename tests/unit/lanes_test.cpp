// Ranges that cross the edges of steps are drawn in lanes, and have the times that they would have without steps.
#include "analysis/basis/lanes.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/tables/operators.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

// Six ranges around whole iterations, each with operators, work of its own and, in some, a range inside of it that
// begins before the operators do. Steps begin in the ranges, `late_us` after them, which are in a lane; none where that
// is 0.
Model iterations(u32 seed, i64 late_us) {
  std::mt19937 random(seed);
  ModelBuilder b;
  u32 tid = late_us ? kFirstLaneTid : 1;
  b.raw().threads[b.thread(tid)].owner = 1;
  i64 gpu_us = 10'000;
  auto launch = [&](i64 at) {
    i64 takes = 1 + i64(random() % 30);
    b.launch(random() % 2 ? "sgemm" : "elementwise", at, gpu_us, gpu_us + takes);
    gpu_us += takes;
  };
  for (i64 i = 0; i < 6; i++) {
    i64 begin = i * 1000;
    b.label("iteration", begin, begin + 950, tid);
    if (random() % 2) b.label("forward", begin + 2, begin + 400, tid);
    for (i64 at = begin + 100; at < begin + 900; at += 100) {
      b.op("aten::mm", at, at + 20 + i64(random() % 60));
      if (random() % 2) launch(at + 10);
      if (random() % 2) launch(at + 85);
    }
    if (late_us) b.step(begin + late_us, begin + 1000 + late_us);
  }
  Model model = b.model();
  for (CallEvent& call : model.calls)  // as real ones: to the innermost range of its row, be it an operator or not
    for (u32 i = 0; i < model.events.size(); i++) {
      const Event& e = model.events[i];
      if (e.thread == call.thread && e.begin_ns <= call.begin_ns && call.end_ns() <= e.end_ns()) call.op = i32(i);
    }
  for (GpuEvent& work : model.gpu) work.op = model.calls[work.call].op;
  return model;
}

std::map<std::string, OperatorRow> rows_of(const Model& model) {
  std::map<std::string, OperatorRow> rows;
  for (OperatorRow& row : operators(model, build_op_tree(model), OperatorKey::name, 0).rows) rows[row.name] = row;
  return rows;
}

TEST(Lanes, RangesThatCrossStepsHaveTheTimesThatTheyHaveWithoutThem) {
  for (u32 seed = 0; seed < 20; seed++) {
    Model without = iterations(seed, 0), with = iterations(seed, 5);
    auto rows = rows_of(with);
    i64 host = 0, device = 0, all = 0;
    for (const auto& [name, expected] : rows_of(without)) {
      const OperatorRow& row = rows[name];
      EXPECT_EQ(row.calls, expected.calls) << name << " seed " << seed;
      EXPECT_EQ(row.host_self_ns, expected.host_self_ns) << name << " seed " << seed;
      EXPECT_EQ(row.host_total_ns, expected.host_total_ns) << name << " seed " << seed;
      EXPECT_EQ(row.device_self_ns, expected.device_self_ns) << name << " seed " << seed;
      EXPECT_EQ(row.device_total_ns, expected.device_total_ns) << name << " seed " << seed;
    }
    for (const auto& [name, row] : rows) host += row.host_self_ns, device += row.device_self_ns;
    for (const GpuEvent& work : with.gpu) all += work.dur_ns;
    EXPECT_EQ(host, 6'005'000) << "self times sum to the time in which anything ran, seed " << seed;
    EXPECT_EQ(device, all) << "no work counts twice, seed " << seed;
  }
}

TEST(Lanes, EachOfEqualRangesHasTheWorkThatWasLaunchedInIt) {
  Model model = iterations(1, 5);
  OpTree tree = build_op_tree(model);
  for (const OpNode& node : tree.nodes) {
    if (model.names[node.name] != "iteration") continue;
    i64 launched = 0;
    for (const GpuEvent& work : model.gpu) {
      i64 ns = model.calls[work.call].begin_ns;
      if (node.begin_ns <= ns && ns < node.end_ns) launched += work.dur_ns;
    }
    EXPECT_GT(launched, 0);
    EXPECT_EQ(node.device_total_ns, launched);
  }
}

}  // namespace
}  // namespace tprof
