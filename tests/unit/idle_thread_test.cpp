// A thread that gets no time does not hold up who waits for it.
#include "finish/idle_thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "record/give_up.h"

namespace tprof {
namespace {

TEST(IdleThread, TakesTurnsUntilItIsStopped) {
  std::atomic<int> turns{0};
  IdleThread idle([&] { turns++; }, 1);
  while (turns < 3) sched_yield();
  idle.stop();
  int last = turns;
  idle.stop();
  EXPECT_EQ(turns, last);
}

TEST(IdleThread, AFailedTurnIsFollowedByTheNext) {
  std::atomic<int> turns{0};
  IdleThread idle([&] { throw ++turns; }, 1);
  while (turns < 3) sched_yield();
}

TEST(IdleThread, AStarvedTurnIsGivenUp) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> begun{false}, over{false};
  {
    IdleThread idle(
        [&] {
          begun = true;
          for (;;) may_give_up();
        },
        1);
    while (!begun) usleep(1000);
    std::thread busy([&] {
      while (!over) {
      }
    });
    idle.stop();
    over = true;
    busy.join();
  }
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace tprof
