// plan_of against torch.profiler.schedule's documented meaning.
#include "collect/steps/schedule.h"

#include <gtest/gtest.h>

#include <string>

using namespace tprof;

static std::string plans(const char* text, int steps) {
  Schedule s;
  OptionError error;
  EXPECT_TRUE(!*text || parse_schedule(text, s, error)) << error.text;
  std::string out;
  for (int i = 0; i < steps; i++) out += "-wAe"[static_cast<int>(plan_of(s, i).phase)];
  return out;
}

TEST(Schedule, CyclesThroughWaitWarmupActive) {
  EXPECT_EQ(plans("wait=1,warmup=1,active=3,repeat=2", 12), "-wAAA-wAAAee");
  EXPECT_EQ(plans("skip_first=2,wait=1,warmup=1,active=1,repeat=1", 7), "---wAee");
}
TEST(Schedule, RepeatZeroGoesOnForEver) { EXPECT_EQ(plans("wait=1,active=1", 8), "-A-A-A-A"); }
TEST(Schedule, SkipFirstWaitDropsTheFirstWaitOnly) {
  EXPECT_EQ(plans("skip_first=1,wait=2,warmup=1,active=1,repeat=2,skip_first_wait=1", 9), "-wA--wAee");
}
TEST(Schedule, WithoutOneEverythingIsActive) { EXPECT_EQ(plans("", 3), "AAA"); }
TEST(Schedule, TheExampleOfTheManual) {
  Schedule s;
  OptionError error;
  ASSERT_TRUE(parse_schedule("skip_first=10,wait=5,warmup=1,active=3,repeat=2", s, error));
  for (int i = 0; i < 40; i++) {
    Plan p = plan_of(s, i);
    EXPECT_EQ(p.phase == Phase::active, (i >= 16 && i < 19) || (i >= 25 && i < 28)) << i;
    if (p.phase == Phase::active) {
      EXPECT_EQ(p.window, i < 20 ? 0 : 1);
    }
  }
}
