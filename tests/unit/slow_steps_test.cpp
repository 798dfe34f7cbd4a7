// Which steps are slow: SlowSteps.
#include "collect/steps/slow_steps.h"

#include <gtest/gtest.h>

using namespace tprof;

namespace {

struct Rule : SlowSteps {
  explicit Rule(double factor) { set(factor); }
  // Steps that take `ticks` each; how many of them are slow.
  int add_many(int count, u64 ticks) {
    int slow = 0;
    while (count--) slow += add(ticks) != 0;
    return slow;
  }
};

constexpr int kKnown = SlowSteps::kWarmUp + SlowSteps::kLeast;

}  // namespace

TEST(SlowSteps, one_step_above_the_factor_is_slow) {
  Rule rule(1.5);
  EXPECT_EQ(rule.add_many(kKnown, 1000), 0);
  EXPECT_EQ(rule.add(1500), 0) << "not above";
  EXPECT_DOUBLE_EQ(rule.add(2500), 2.5);
  EXPECT_EQ(rule.add_many(10, 1000), 0);
}

TEST(SlowSteps, nothing_is_slow_before_enough_is_known) {
  Rule rule(1.5);
  EXPECT_EQ(rule.add_many(kKnown - 1, 1000), 0);
  EXPECT_EQ(rule.add(1'000'000), 0);
  EXPECT_GT(rule.add(1'000'000), 999);
}

TEST(SlowSteps, slow_first_steps_do_not_hide_later_ones) {
  Rule rule(2);
  rule.add_many(SlowSteps::kWarmUp, 1'000'000);
  EXPECT_EQ(rule.add_many(SlowSteps::kLeast, 1000), 0);
  EXPECT_GT(rule.add(2001), 2);
}

TEST(SlowSteps, a_program_that_becomes_slower_is_the_new_median) {
  Rule rule(1.5);
  rule.add_many(kKnown + SlowSteps::kRecent, 1000);
  int slow = rule.add_many(2 * SlowSteps::kRecent, 3000);
  EXPECT_GT(slow, 0);
  EXPECT_LE(slow, int(SlowSteps::kRecent / 2) + 1);
}

TEST(SlowSteps, counting_anew_forgets_all) {
  Rule rule(1.5);
  rule.add_many(kKnown, 1000);
  rule.forget();
  EXPECT_EQ(rule.add_many(kKnown, 9000), 0);
}

TEST(SlowSteps, steps_without_duration_make_no_infinite_factor) {
  Rule rule(1.5);
  rule.add_many(kKnown, 0);
  EXPECT_DOUBLE_EQ(rule.add(100), 100);
}
