// Evaluations beside the steps in analyses and reports: in no average, in a line of their own.
#include <gtest/gtest.h>

#include "analysis/advice/advice.h"
#include "analysis/advice/facts.h"
#include "analysis/diff/diff.h"
#include "analysis/tables/operators.h"
#include "model_builder.h"
#include "report/overview.h"

namespace tprof {
namespace {

// Three steps of 1 ms, an operator of 400 us in each; behind the second an evaluation of 5 ms.
void train(ModelBuilder& b) {
  for (i64 at : {0, 1000, 7000}) {
    b.step(at, at + 1000);
    b.op("aten::mm", at + 100, at + 500);
  }
  b.stretch(2000, 7000, 10);
  b.op("aten::mm", 2100, 6900);
}

TEST(BesideSteps, EvaluationsAreInNoAverage) {
  ModelBuilder b;
  train(b);
  Model m = b.model();
  Overview o = overview_of(m);
  ASSERT_EQ(o.steps.size(), 3u);
  EXPECT_EQ(o.average.us, 1000);
  EXPECT_EQ(o.average.by[u32(Category::cpu)], 400);
  EXPECT_EQ(o.counted.of(StretchKind::evaluation).count, 1u);
  Windows w = windows_of(m);
  EXPECT_EQ(w.all.length(), 8'000'000);
  EXPECT_EQ(w.time.length(), 3'000'000);
  EXPECT_FALSE(w.holds(2'500'000));
  EXPECT_TRUE(w.holds(7'000'000));
}

TEST(BesideSteps, TheyHaveALineOfTheirOwn) {
  ModelBuilder b;
  train(b);
  Overview o = overview_of(b.model());
  std::string text = overview_text(o, {"run", "worker", "1"}, {});
  EXPECT_NE(text.find("3 steps (tprof_step()), 1 evaluation of 10 batches"), std::string::npos) << text;
  EXPECT_NE(text.find("1 evaluation of 10 batches, 5.000ms (62.5 % of the trace)"), std::string::npos) << text;
  Json json = overview_json(o, {"run", "worker", "1"}, 1);
  EXPECT_EQ(json["evaluations"]["us"], 5000);
  EXPECT_EQ(json["evaluations"]["percent"], 62.5);
  EXPECT_EQ(json["counted"], "3 steps (tprof_step()), 1 evaluation of 10 batches");
  bool said = false;
  for (const std::string& line : steps_table(o).footer) said |= line.starts_with("Outside the steps");
  EXPECT_TRUE(said);
}

TEST(BesideSteps, AStepThatHoldsOneIsLeftOut) {
  ModelBuilder b;
  b.step(0, 1000);
  b.step(1000, 9000);
  b.step(9000, 10'000);
  b.op("aten::mm", 100, 500);
  b.op("aten::mm", 1100, 8500);
  b.op("aten::mm", 9100, 9500);
  b.stretch(2000, 8000);
  Model m = b.model();
  Overview o = overview_of(m);
  ASSERT_EQ(o.steps.size(), 2u);
  EXPECT_EQ(o.steps[1].name, "2");
  EXPECT_EQ(o.average.us, 1000);
  EXPECT_EQ(windows_of(m).time.length(), 2'000'000);
  ASSERT_FALSE(o.notes.empty());
  EXPECT_EQ(o.notes[0], "not counted, because an evaluation lies inside: steps 1");
}

TEST(BesideSteps, UnlessThereAreNoOthers) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::mm", 100, 900);
  b.stretch(200, 300);
  Overview o = overview_of(b.model());
  EXPECT_EQ(o.steps.size(), 1u);
}

TEST(BesideSteps, WhatAnEvaluationLaunchedIsNoSteps) {
  ModelBuilder b;
  for (i64 at : {0, 1000, 3000, 4000}) {
    b.step(at, at + 1000);
    b.launch("train", at + 100, at + 200, at + 700);
  }
  b.stretch(2000, 3000);
  b.launch("evaluate", 2100, 2200, 3200);  // runs on into the next step
  Model m = b.model();
  std::vector<StepSpan> spans = step_spans(m);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[1].time, (Interval{1'000'000, 2'000'000}));
  EXPECT_EQ(spans[2].time, (Interval{3'200'000, 4'000'000}));
  for (const StepSpan& span : spans) EXPECT_EQ(span.activities, 1u);
  Facts facts(m, {});
  EXPECT_EQ(facts.launches.activities, 4u);
  ASSERT_TRUE(facts.gpu);
  EXPECT_EQ(facts.gpu->idle_ns + facts.gpu->busy_ns, windows_of(m).time.length());
  for (const Gap& gap : facts.gpu->gaps) EXPECT_TRUE(gap.end_ns <= 2'000'000 || gap.begin_ns >= 3'000'000);
}

TEST(BesideSteps, StepsOfOneLengthAreNotUneven) {
  ModelBuilder b;
  for (i64 s = 0; s < 6; s++) {
    i64 at = s * 1000 + (s > 2 ? 50'000 : 0);
    b.step(at, at + 1000);
    b.op("aten::mm", at, at + 900);
  }
  b.stretch(3000, 53'000, 100);
  b.op("aten::mm", 3000, 52'000);
  Model m = b.model();
  Facts facts(m, {});
  for (const Advice& a : advise(facts)) EXPECT_NE(std::string(a.rule->title), "Steps take very different times");
  EXPECT_EQ(facts.variability.slowest_ns, 1'000'000);
}

TEST(BesideSteps, DiffTakesStepsOnly) {
  ModelBuilder with, without;
  train(with);
  for (i64 at : {0, 1000, 2000}) {
    without.step(at, at + 1000);
    without.op("aten::mm", at + 100, at + 500);
  }
  DiffSide a, b;
  a.add(with.model());
  b.add(without.model());
  a.finish();
  b.finish();
  Diff d = diff(a, b);
  EXPECT_EQ(d.step.delta_ns(), 0);
  for (const DiffRow& row : d.rows) EXPECT_EQ(row.delta_ns(), 0) << row.name;
  ModelBuilder before;
  train(before);
  before.raw().before_training = true;
  a.add(before.model());
  EXPECT_EQ(a.steps().size(), 3u);
}

TEST(BesideSteps, OneRowForAllEvaluations) {
  ModelBuilder b;
  train(b);
  b.stretch(8000, 8100);
  Model m = b.model();
  int rows = 0;
  for (const OperatorRow& row : operators(m, build_op_tree(m), OperatorKey::name).rows)
    if (row.name == "Evaluation*") {
      rows++;
      EXPECT_EQ(row.calls, 2u);
    }
  EXPECT_EQ(rows, 1);
}

TEST(BesideSteps, APartOfAnEvaluationAloneHasNoSteps) {
  ModelBuilder b;
  b.stretch(0, 1000);
  b.op("aten::mm", 100, 900);
  Overview o = overview_of(b.model());
  EXPECT_TRUE(o.steps.empty());
  EXPECT_NE(overview_text(o, {"run", "worker", "1"}, {}).find("1 evaluation"), std::string::npos);
}

}  // namespace
}  // namespace tprof
