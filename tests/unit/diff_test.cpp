// A diff of two runs, and how sure it is.
#include "analysis/diff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model_builder.h"

namespace tprof {
namespace {

// Steps of the given lengths, with a DataLoader of the given part of each and an operator behind it.
Model run(const std::vector<i64>& lengths, double loading, const std::string& op = "aten::mm",
          const std::string& kernel = "gemm") {
  ModelBuilder b;
  i64 at = 0;
  for (i64 us : lengths) {
    b.step(at, at + us);
    i64 loaded = i64(double(us) * loading);
    if (loaded) b.label("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, at + loaded);
    b.op(op, at + loaded, at + us - 10);
    b.launch(kernel, at + loaded + 1, at + loaded + 10, at + us - 10);
    at += us;
  }
  return b.model();
}

DiffSide side(const Model& model) {
  DiffSide out;
  out.add(model);
  return out;
}

const DiffRow* row(const Diff& diff, DiffBy by, const std::string& name) {
  for (const DiffRow& r : diff.rows)
    if (r.by == by && r.name == name) return &r;
  return nullptr;
}

StepValues values(std::mt19937& random, size_t n, double mean, double sigma) {
  std::normal_distribution<double> normal(mean, sigma);
  StepValues out;
  for (u32 i = 0; i < n; i++) out.push_back({i, normal(random)});
  return out;
}

TEST(Bootstrap, GivesTheSameAnswerEachTime) {
  std::mt19937 random(1);
  StepValues a = values(random, 10, 100, 5), b = values(random, 12, 104, 5);
  SureInterval first = Bootstrap(10, 12).difference(a, b), second = Bootstrap(10, 12).difference(a, b);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  // Written down once: other machines and compilers must agree.
  EXPECT_LT(first.low, first.high);
}

TEST(Bootstrap, EqualStepsLeaveNoDoubt) {
  StepValues a, b;
  for (u32 i = 0; i < 5; i++) a.push_back({i, 10}), b.push_back({i, 12});
  SureInterval sure = Bootstrap(5, 5).difference(a, b);
  EXPECT_NEAR(sure.low, 2, 1e-9);
  EXPECT_NEAR(sure.high, 2, 1e-9);
}

TEST(Bootstrap, CoversTheTruthMostOfTheTime) {
  std::mt19937 random(2);
  int covered = 0;
  for (int round = 0; round < 200; round++) {
    SureInterval sure = Bootstrap(12, 12).difference(values(random, 12, 100, 10), values(random, 12, 100, 10));
    covered += sure.low <= 0 && sure.high >= 0;
  }
  EXPECT_GE(covered, 180);
  EXPECT_LT(covered, 200);
}

TEST(Bootstrap, TwoStepsAreTooFew) { EXPECT_FALSE(Bootstrap(2, 50).difference({{0, 1}}, {{0, 2}}).known); }

TEST(Diff, TellsTheStoryOfAFasterLoader) {
  Diff d = diff(side(run({1000, 1010, 990, 1005}, 0.8)), side(run({250, 255, 245, 250}, 0.1)));
  ASSERT_NE(d.explains(), nullptr);
  EXPECT_EQ(d.explains()->name, "DataLoader");
  EXPECT_LT(d.step.ratio(), -0.7);
  EXPECT_TRUE(d.step.interval.excludes_zero());
  EXPECT_NE(d.story().find("1.0"), std::string::npos);
  EXPECT_NE(d.story().find("mostly DataLoader"), std::string::npos) << d.story();
  EXPECT_EQ(regression(d, 0.05), Regression::no);
}

TEST(Diff, NoiseIsNoRegression) {
  Diff d = diff(side(run({1000, 1400, 800, 1200}, 0)), side(run({1300, 900, 1500, 1000}, 0)));
  EXPECT_GT(d.step.ratio(), 0.05);
  EXPECT_EQ(regression(d, 0.05), Regression::no);
  EXPECT_NE(d.story().find("noise"), std::string::npos) << d.story();
}

TEST(Diff, ASteadySlowdownIsARegression) {
  Diff d = diff(side(run({1000, 1001, 999, 1000}, 0)), side(run({1100, 1101, 1099, 1100}, 0)));
  EXPECT_EQ(regression(d, 0.05), Regression::yes);
  EXPECT_EQ(regression(d, 0.15), Regression::no);
}

TEST(Diff, OneStepCannotTell) {
  Diff d = diff(side(run({1000}, 0)), side(run({2000}, 0)));
  EXPECT_EQ(regression(d, 0.05), Regression::unknown);
  EXPECT_EQ(regression(diff(side(run({2000}, 0)), side(run({1000}, 0))), 0.05), Regression::no);
}

TEST(Diff, KeepsWhatIsOnOneSideOnly) {
  Diff d = diff(side(run({1000, 1000, 1000}, 0, "aten::mm", "sgemm")),
                side(run({1000, 1000, 1000}, 0, "aten::linear", "nvjet")));
  ASSERT_NE(row(d, DiffBy::kernel, "sgemm"), nullptr);
  EXPECT_FALSE(row(d, DiffBy::kernel, "sgemm")->in_b);
  EXPECT_FALSE(row(d, DiffBy::kernel, "nvjet")->in_a);
  EXPECT_NEAR(row(d, DiffBy::kernel, "nvjet")->delta_ns(), 980e3, 1);
  EXPECT_TRUE(row(d, DiffBy::operator_device, "aten::linear")->in_b);
  EXPECT_FALSE(row(d, DiffBy::operator_host, "aten::mm")->in_b);
}

TEST(Diff, AddsUpWorkersAndThreads) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::mm", 0, 100);
  b.op("aten::mm", 0, 300, {}, 2);
  Model model = b.model();
  DiffSide a, twice;
  a.add(model);
  twice.add(model);
  twice.add(model);
  EXPECT_EQ(twice.steps(), 2u);
  Diff d = diff(a, twice);
  EXPECT_NEAR(row(d, DiffBy::operator_host, "aten::mm")->a_ns, 400e3, 1);
  EXPECT_NEAR(row(d, DiffBy::operator_host, "aten::mm")->b_ns, 400e3, 1);
  EXPECT_NEAR(row(d, DiffBy::operator_host, "aten::mm")->b_calls, 2, 1e-9);
}

TEST(Diff, CategoriesSumToTheStep) {
  Diff d = diff(side(run({1000, 1200, 900}, 0.3)), side(run({500, 600, 700}, 0.1)));
  double a = 0, b = 0;
  for (const DiffRow& r : d.rows)
    if (r.by == DiffBy::category) a += r.a_ns, b += r.b_ns;
  EXPECT_NEAR(a, d.step.a_ns, 1);
  EXPECT_NEAR(b, d.step.b_ns, 1);
}

TEST(Diff, NothingOnASideIsSaid) {
  Diff d = diff(side(run({1000}, 0)), DiffSide());
  EXPECT_NE(d.story().find("nothing to compare"), std::string::npos);
  EXPECT_EQ(regression(d, 0), Regression::unknown);
}

}  // namespace
}  // namespace tprof
