// A diff of two runs, and how sure it is.
#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model_builder.h"
#include "report/diff.h"

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
  out.finish();
  return out;
}

const DiffRow* row(const Diff& diff, DiffBy by, const std::string& name) {
  for (const DiffRow& r : diff.rows)
    if (r.by == by && r.name == name) return &r;
  return nullptr;
}

double normal(std::mt19937& random, double sigma) {
  // The distributions of <random> differ from library to library: the sum of twelve uniform ones is near enough.
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += double(random() >> 8) / (1 << 24);
  return sum * sigma;
}

// Runs of a program on a machine that drifts, has slow phases and stalls: A and B in turn.
struct Noise {
  const char* what;
  double between_runs, drift, steps, stays, stalls;
};
constexpr Noise kNoises[] = {{"quiet", 0.01, 0.003, 0.05, 0.3, 0},
                             {"drifting", 0.01, 0.03, 0.05, 0.5, 0.02},
                             {"noisy", 0.05, 0.05, 0.25, 0.5, 0.1},
                             {"stalling", 0.02, 0.01, 0.1, 0.3, 0.15},
                             {"slow phases", 0, 0, 0.2, 0.7, 0.05}};

class Machine {
 public:
  Machine(const Noise& noise, u32 seed) : noise_(noise), random_(seed) {}
  // Steps of one more run, us.
  std::vector<i64> run(double factor, int steps = 25) {
    drift_ += normal(random_, noise_.drift);
    double level = drift_ + normal(random_, noise_.between_runs), phase = normal(random_, 1);
    std::vector<i64> out;
    for (int i = 0; i < steps; i++) {
      phase = noise_.stays * phase + normal(random_, std::sqrt(1 - noise_.stays * noise_.stays));
      double us = 10000 * factor * std::exp(level + noise_.steps * phase);
      if (double(random_() >> 8) / (1 << 24) < noise_.stalls) us *= 1 + 1.5 * double(random_() >> 8) / (1 << 24);
      out.push_back(i64(us));
    }
    return out;
  }

 private:
  Noise noise_;
  std::mt19937 random_;
  double drift_ = 0;
};

Model steps_of(const std::vector<i64>& lengths) {
  ModelBuilder b;
  i64 at = 0;
  for (i64 us : lengths) b.step(at, at + us), at += us;
  return b.model();
}

// Three runs of each, in turn, B's steps longer by `change`.
Diff three_and_three(const Noise& noise, u32 seed, double change) {
  Machine machine(noise, seed);
  DiffSide a, b;
  for (int i = 0; i < 3; i++) {
    a.add(steps_of(machine.run(1)), std::to_string(i));
    b.add(steps_of(machine.run(1 + change)), std::to_string(i));
  }
  a.finish(), b.finish();
  return diff(a, b);
}

DiffSide runs(const std::vector<std::vector<i64>>& lengths) {
  DiffSide out;
  for (size_t i = 0; i < lengths.size(); i++) out.add(run(lengths[i], 0), std::to_string(i));
  out.finish();
  return out;
}

bool says(const Diff& diff, const std::string& what) {
  for (const std::string& remark : diff.remarks)
    if (remark.find(what) != std::string::npos) return true;
  return false;
}

TEST(Student, AgreesWithThePrintedTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706, 0.001);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.776, 0.001);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.812, 0.001);
  EXPECT_NEAR(student_two_sided(4.604, 4), 0.01, 1e-5);
  EXPECT_NEAR(student_two_sided(0, 7), 1, 1e-12);
}

TEST(Sample, EqualValuesLeaveNoDoubt) {
  SureInterval sure = difference_of({{10, 10, 10}}, {{12, 12, 12}}, 10, 12);
  EXPECT_TRUE(sure.excludes_zero());
  EXPECT_NEAR(sure.low, 2, 1e-9);
  EXPECT_NEAR(sure.high, 2, 1e-9);
  EXPECT_EQ(sure.chance, 0);
}

TEST(Sample, OneValueTellsNothing) { EXPECT_FALSE(difference_of({{1}}, {{1, 2, 3}}, 1, 2).known); }

TEST(Sample, ValuesThatAgreeByLuckAreNotTrusted) {
  SureInterval bare = difference_of({{10, 10, 10}}, {{11, 11, 11}}, 10, 11);
  SureInterval doubted = difference_of({{10, 10, 10}, 9}, {{11, 11, 11}, 9}, 10, 11);
  EXPECT_TRUE(bare.excludes_zero());
  EXPECT_FALSE(doubted.excludes_zero());
}

// The change that is found is stated by one comparison of equal programs, and planted into the next one.
TEST(Diff, EqualProgramsAreSeldomCalledChangedAndFourOfFiveChangesOfTheStatedSizeAre) {
  for (const Noise& noise : kNoises) {
    int equal = 0, found = 0;
    for (u32 seed = 0; seed < 200; seed++) {
      Diff first = three_and_three(noise, seed, 0);
      equal += first.verdict() != Verdict::noise;
      Diff second = three_and_three(noise, 1000 + seed, first.second.interval.smallest / first.second.a_ns);
      found += second.verdict() != Verdict::noise && second.second.delta_ns() > 0;
    }
    EXPECT_LE(equal, 16) << noise.what;
    EXPECT_GE(found, 156) << noise.what;
    EXPECT_LT(found, 200) << noise.what;
  }
}

TEST(Diff, OfOneRunASideNothingIsSaidOfTheProgram) {
  Diff d = diff(runs({{1000, 1001, 999, 1000}}), runs({{1100, 1101, 1099, 1100}}));
  EXPECT_EQ(d.verdict(), Verdict::unknown);
  EXPECT_TRUE(says(d, "how much runs of the same program differ is not known"));
  EXPECT_NE(d.story().find("whether another run would show it is not known"), std::string::npos) << d.story();
  d = diff(runs({{1000, 1001, 999, 1000}}), runs({{1100, 1101, 1099, 1100}, {1100, 1101, 1099, 1100}}));
  EXPECT_EQ(d.verdict(), Verdict::unknown);
}

TEST(Diff, RunsThatDifferAmongThemselvesHideWhatTheirStepsWouldShow) {
  std::vector<std::vector<i64>> a = {{1000, 1001, 999}, {1200, 1201, 1199}, {1100, 1101, 1099}};
  std::vector<std::vector<i64>> b = {{1150, 1151, 1149}, {1250, 1251, 1249}, {1050, 1051, 1049}};
  Diff d = diff(runs(a), runs(b));
  EXPECT_EQ(d.verdict(), Verdict::noise);
  EXPECT_NE(d.story().find("noise between runs"), std::string::npos) << d.story();
  EXPECT_TRUE(diff(runs({a[0]}), runs({b[0]})).step.interval.excludes_zero());
}

TEST(Diff, SaysTheSmallestChangeThatItCouldHaveFound) {
  Diff d = diff(runs({{1000}, {1010}, {990}}), runs({{1000}, {1010}, {990}}));
  // 4.67 standard errors, each 1 % * sqrt(2 / 3), as a ratio.
  EXPECT_NEAR(d.step.interval.smallest, 1e6 * std::expm1(4.67 * 0.01 * std::sqrt(2.0 / 3)), 50);
  EXPECT_TRUE(says(d, "by 3.9 % would have been found in four of five such comparisons"));
}

TEST(Diff, AStallOfFewStepsHidesNoChangeOfAllOthers) {
  auto steps = [](i64 us, i64 stall) { return std::vector<i64>{us, us + 2, us - 2, us + 1, us - 1, us, us, stall}; };
  Diff d = diff(runs({steps(1000, 9000), steps(1003, 1000), steps(1001, 4000)}),
                runs({steps(1050, 1000), steps(1052, 8000), steps(1055, 1100)}));
  EXPECT_EQ(d.verdict(), Verdict::second_changed);
  EXPECT_NE(d.story().find("the middle half of the steps"), std::string::npos) << d.story();
  EXPECT_EQ(regression(d, 0.02, false), Regression::yes);
  EXPECT_EQ(regression(d, 0.10, false), Regression::no);
}

TEST(Diff, WaitingForACpuHidesNoChangeOfWhatRuns) {
  auto waiting = [](double us, std::vector<double> shares) {
    DiffSide out;
    for (double share : shares) {
      auto length = i64(us / (1 - share));
      Model model = run({length, length + 1, length - 1, length}, 0);
      if (share > 0) model.info["machine.waited"] = std::to_string(share);
      out.add(model, std::to_string(share));
    }
    out.finish();
    return out;
  };
  Diff d = diff(waiting(10000, {0.1, 0.502, 0.301}), waiting(11000, {0.203, 0.05, 0.6}));
  EXPECT_EQ(d.asks, Diff::Second::less_waiting);
  EXPECT_EQ(d.verdict(), Verdict::second_changed);
  EXPECT_NEAR(d.second.ratio(), 0.1, 0.001);
  EXPECT_NE(d.story().find("but the step without the time that its main thread waited for a CPU"), std::string::npos)
      << d.story();
  EXPECT_EQ(regression(d, 0.05, false), Regression::yes);
  // Not known of one run, or next to nothing: stalls are what remains.
  EXPECT_EQ(diff(waiting(10000, {0, 0.502, 0.301}), waiting(11000, {0.203, 0.05, 0.6})).asks, Diff::Second::typical);
  EXPECT_EQ(diff(waiting(10000, {0.01, 0.015}), waiting(11000, {0.011, 0.012})).asks, Diff::Second::typical);
}

// Ten operators, each `share` of it slower or faster than in the other side.
Model operators(const std::vector<double>& factors, bool one_more = false) {
  ModelBuilder b;
  i64 at = 0;
  for (int step = 0; step < 4; step++) {
    i64 begin = at;
    for (size_t i = 0; i < factors.size(); i++) {
      auto us = i64(1000 * factors[i]);
      b.op("aten::op" + std::to_string(i), at, at + us);
      at += us;
      if (one_more) b.op("aten::op" + std::to_string(i), at, at + us), at += us;
    }
    b.step(begin, at);
  }
  return b.model();
}

TEST(Diff, SaysThatEverythingBecameFasterAlike) {
  std::vector<double> before(10, 1), faster(10, 0.8), some = before;
  for (size_t i = 0; i < faster.size(); i++) faster[i] += 0.005 * double(i % 3);
  for (size_t i = 0; i < 5; i++) some[i] = 0.6;
  Diff d = diff(side(operators(before)), side(operators(faster)));
  ASSERT_EQ(d.alike.size(), 1u);
  EXPECT_NEAR(d.alike[0].ratio, -0.195, 0.01);
  EXPECT_TRUE(says(d, "everything became 20 % faster (half of"));
  EXPECT_TRUE(diff(side(operators(before)), side(operators(some))).alike.empty());          // half of it alone
  EXPECT_TRUE(diff(side(operators(before)), side(operators(before, true))).alike.empty());  // twice as many calls
  EXPECT_TRUE(diff(side(operators(before)), side(operators(before))).alike.empty());
}

TEST(Diff, SaysThatTheMachineWasAnotherOne) {
  auto on_machine = [](std::vector<std::string> others) {
    DiffSide out;
    for (size_t i = 0; i < others.size(); i++) {
      Model model = run({1000, 1010, 990}, 0);
      model.info["machine.other_cpus"] = others[i];
      model.info["machine.load"] = "2";
      out.add(model, std::to_string(i));
    }
    out.finish();
    return out;
  };
  Diff d = diff(on_machine({"0.1", "0.2", "0.1"}), on_machine({"1.5", "1.2", "1.9"}));
  EXPECT_TRUE(says(d, "the machine was not the same: CPUs that other processes used: 0.1333 in A, 1.533 in B"));
  ASSERT_EQ(d.machine.size(), 2u);
  EXPECT_FALSE(d.machine[0].apart);  // the load
  EXPECT_FALSE(says(diff(on_machine({"0.1", "1.2", "0.1"}), on_machine({"1.5", "1.0", "1.9"})), "not the same"));
}

TEST(Diff, RunsOfOneSideBeforeThoseOfTheOtherAreSaidToBe) {
  auto begun = [](std::vector<u64> seconds) {
    DiffSide out;
    for (u64 s : seconds) {
      Model model = run({1000, 1010, 990}, 0);
      model.base_time_ns = 1'700'000'000'000'000'000 + s * 1'000'000'000;
      out.add(model, std::to_string(s));
    }
    out.finish();
    return out;
  };
  EXPECT_TRUE(says(diff(begun({0, 10, 20}), begun({30, 40, 50})), "alternate the runs"));
  EXPECT_FALSE(says(diff(begun({0, 20, 40}), begun({10, 30, 50})), "alternate the runs"));
}

TEST(Diff, FewRowsOfManyEqualOnesAreCalledChanged) {
  std::mt19937 random(5);
  int called = 0;
  for (int round = 0; round < 20; round++) {
    DiffSide sides[2];
    for (DiffSide& s : sides)
      for (int i = 0; i < 3; i++) {
        std::vector<double> factors;
        for (int op = 0; op < 40; op++) factors.push_back(1 + normal(random, 0.1));
        s.add(operators(factors), std::to_string(i));
      }
    for (DiffSide& s : sides) s.finish();
    for (const DiffRow& r : diff(sides[0], sides[1]).rows) called += r.by == DiffBy::operator_host && r.changed;
  }
  EXPECT_LE(called, 4);  // of 800
}

TEST(Diff, TellsTheStoryOfAFasterLoader) {
  Diff d = diff(side(run({1000, 1010, 990, 1005}, 0.8)), side(run({250, 255, 245, 250}, 0.1)));
  ASSERT_NE(d.explains(), nullptr);
  EXPECT_EQ(d.explains()->name, "DataLoader");
  EXPECT_LT(d.step.ratio(), -0.7);
  EXPECT_TRUE(d.step.interval.excludes_zero());
  EXPECT_NE(d.story().find("1.0"), std::string::npos);
  EXPECT_NE(d.story().find("mostly DataLoader"), std::string::npos) << d.story();
  EXPECT_EQ(regression(d, 0.05, true), Regression::no);
}

TEST(Diff, NoiseIsNoRegression) {
  Diff d = diff(side(run({1000, 1400, 800, 1200}, 0)), side(run({1300, 900, 1500, 1000}, 0)));
  EXPECT_GT(d.step.ratio(), 0.05);
  EXPECT_EQ(regression(d, 0.05, true), Regression::no);
  EXPECT_NE(d.story().find("noise"), std::string::npos) << d.story();
}

TEST(Diff, ASteadySlowdownIsARegression) {
  Diff d = diff(side(run({1000, 1001, 999, 1000}, 0)), side(run({1100, 1101, 1099, 1100}, 0)));
  EXPECT_EQ(regression(d, 0.05, true), Regression::yes);
  EXPECT_EQ(regression(d, 0.15, true), Regression::no);
}

TEST(Diff, ARegressionWantsThreeRunsASide) {
  std::vector<i64> before = {1000, 1001, 999, 1000}, after = {1100, 1101, 1099, 1100};
  Diff two = diff(runs({before, before}), runs({after, after, after}));
  EXPECT_EQ(regression(two, 0.05, false), Regression::unknown);
  EXPECT_EQ(regression(two, 0.05, true), Regression::yes);
  EXPECT_EQ(regression(diff(runs({before}), runs({after})), 0.05, false), Regression::unknown);
  Diff three = diff(runs({before, before, before}), runs({after, after, after}));
  EXPECT_EQ(regression(three, 0.05, false), Regression::yes);
  EXPECT_EQ(regression(three, 0.15, false), Regression::no);
}

TEST(Diff, OneStepCannotTell) {
  Diff d = diff(side(run({1000}, 0)), side(run({2000}, 0)));
  EXPECT_EQ(regression(d, 0.05, true), Regression::unknown);
  EXPECT_EQ(regression(diff(side(run({2000}, 0)), side(run({1000}, 0))), 0.05, true), Regression::no);
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
  a.finish(), twice.finish();
  EXPECT_EQ(twice.steps().size(), 2u);
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

TEST(Diff, WhatWasNothingBeforeHasItsRow) {
  for (bool back : {false, true}) {
    DiffSide without = side(run({1000, 1001, 999, 1000}, 0)), with = side(run({1400, 1401, 1399, 1400}, 0.3));
    Table table = diff_table(back ? diff(with, without) : diff(without, with), DiffBy::category, 10);
    size_t found = 0;
    for (const std::vector<Value>& row : table.rows) found += std::get<std::string>(row[0]) == "DataLoader";
    EXPECT_EQ(found, 1u) << back;
  }
}

TEST(Diff, NothingOnASideIsSaid) {
  Diff d = diff(side(run({1000}, 0)), DiffSide());
  EXPECT_NE(d.story().find("nothing to compare"), std::string::npos);
  EXPECT_EQ(regression(d, 0, true), Regression::unknown);
}

}  // namespace
}  // namespace tprof
