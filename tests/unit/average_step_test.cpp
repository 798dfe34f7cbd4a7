// The average step on every page that shows it, and the median beside it: the overview, the advice, the half page that
// `tprof run` ends with.
#include <gtest/gtest.h>

#include "model_builder.h"
#include "report/advice.h"
#include "report/overview.h"
#include "report/summary.h"

namespace tprof {
namespace {

// A time of half a nanosecond is where different ways to round part.
TEST(AverageStep, IsTheSameOnEveryPage) {
  for (i64 more = 0; more < 120; more++) {
    ModelBuilder b;
    for (i64 i = 0; i < 6; i++) {
      b.step(1000 * i, 1000 * i + 900);
      i64 extra = i == 5 ? more : 37 * i;
      b.raw().steps.back().end_ns += extra;
      b.raw().events.back().dur_ns += extra;
    }
    Model model = b.model();
    Facts facts(model, device_table());
    Source source{"run", "worker", "1"};
    std::vector<Advice> advice = advise(facts);
    double us = facts.overview.average.us;
    ASSERT_NEAR(us, 900 + (37 * (1 + 2 + 3 + 4) + double(more)) / 6 / 1000, 1e-9);
    std::string average = time_text(whole_ns(us));
    auto says = [&](const std::string& page, const std::string& before) {
      EXPECT_NE(page.find(before + average), page.npos) << average << "\n" << page;
    };
    says(overview_text(facts.overview, source, {}), "Average step ");
    says(advice_text(facts, advice, source, 3, {}), "  step ");
    Operators ops = operators(model, build_op_tree(model), OperatorKey::name);
    says(summary_text(facts, advice, ops, {}, {}), "Average of 6 steps: ");
  }
}

std::string summary_of(const Facts& facts) {
  Operators ops = operators(facts.model, build_op_tree(facts.model), OperatorKey::name);
  return summary_text(facts, advise(facts), ops, {}, {});
}

// Step 0 takes 116 ms, the others 10 and some; step 5 holds an evaluation and counts for neither.
Model with_one_slow_step() {
  ModelBuilder b;
  i64 begin = 0;
  for (i64 i = 0; i < 8; i++) {
    i64 length = i == 0 ? 116'000 : i == 5 ? 900'000 : 10'000 + 10 * i;
    b.step(begin, begin + length);
    if (i == 5) b.stretch(begin + 10, begin + 800'000);
    begin += length;
  }
  return b.model();
}

TEST(AverageStep, HasTheMedianOfTheSameStepsBesideIt) {
  Model model = with_one_slow_step();
  Facts facts(model, device_table());
  ASSERT_EQ(facts.overview.steps.size(), 7u);
  Source source{"run", "worker", "1"};
  std::string spread = "median 10.040ms, the longest 116.000ms";
  for (const std::string& page : {overview_text(facts.overview, source, {}), text_of(steps_table(facts.overview), {}),
                                  summary_of(facts), advice_text(facts, {}, source, 3, {})})
    EXPECT_NE(page.find(spread), page.npos) << page;
  EXPECT_EQ(overview_json(facts.overview, source, 1)["median_step_time_us"], 10'040);
  EXPECT_EQ(advice_json(facts, {}, source)["median_step_time_us"], 10'040.0);
}

TEST(AverageStep, HasNoMedianWithFewerThanThreeSteps) {
  ModelBuilder b;
  b.step(0, 100);
  b.step(100, 300);
  Model model = b.model();
  Facts facts(model, device_table());
  Source source{"run", "worker", "1"};
  std::string page = overview_text(facts.overview, source, {}) + summary_of(facts);
  EXPECT_EQ(page.find("median"), page.npos) << page;
  EXPECT_TRUE(overview_json(facts.overview, source, 1)["median_step_time_us"].is_null());
  EXPECT_TRUE(advice_json(facts, {}, source)["median_step_time_us"].is_null());
}

TEST(AverageStep, IsSaidToBeUnreliableInTheSummaryOfABusyMachine) {
  for (bool busy : {false, true}) {
    ModelBuilder b;
    for (i64 i = 0; i < 3; i++) b.step(100 * i, 100 * i + 90);
    if (busy) b.raw().info["machine.waited"] = "0.4";
    Model model = b.model();
    std::string page = summary_of(Facts(model, device_table()));
    EXPECT_EQ(page.find("the machine was busy with other work: for 40 %") != page.npos, busy) << page;
  }
}

}  // namespace
}  // namespace tprof
