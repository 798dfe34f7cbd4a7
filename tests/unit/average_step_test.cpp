// The average step on every page that shows it: the overview, the advice, the half page that `tprof run` ends with.
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

}  // namespace
}  // namespace tprof
