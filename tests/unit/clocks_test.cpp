// How the clocks of machines differ, and which calls of collectives belong together.
#include "analysis/ranks/clocks.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/ranks/matching.h"

namespace tprof {
namespace {

constexpr i64 kMs = 1'000'000;

// `count` all-reduces of 1 ms that all ranks leave together, up to `noise_ns` late; the rank's clock is `ahead_ns`.
Rank rank(i32 number, const std::string& boot, i64 ahead_ns, int count = 40, i64 noise_ns = 100'000) {
  std::mt19937 random(unsigned(number) + 1);
  Rank out;
  out.number = number;
  out.boot = boot;
  out.worker = "rank" + std::to_string(number);
  for (i64 i = 0; i < count; i++) {
    CollectiveCall call;
    call.op = "gloo:all_reduce";
    i64 end = (i + 1) * 20 * kMs + (noise_ns ? i64(random() % u64(noise_ns)) : 0);
    call.begin_ns = (i + 1) * 20 * kMs - kMs - i64(random() % (5 * kMs)) + ahead_ns;
    call.dur_ns = end + ahead_ns - call.begin_ns;
    out.calls.push_back(call);
  }
  return out;
}

TEST(Clocks, RanksOfOneBootShareAClock) {
  std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "a", 0), rank(2, "b", 5 * kMs), rank(3, "b", 5 * kMs)};
  Clocks clocks = clocks_of(ranks);
  ASSERT_EQ(clocks.clocks.size(), 2u);
  EXPECT_EQ(clocks.of_rank, (std::vector<u32>{0, 0, 1, 1}));
  EXPECT_EQ(clocks.shift_ns(1), 0);
}

TEST(Clocks, AnOffsetIsFoundWithinItsError) {
  for (i64 ahead : {5 * kMs, -5 * kMs, 3600 * 1000 * kMs}) {
    Clocks clocks = clocks_of({rank(0, "a", 0), rank(1, "b", ahead)});
    const Clock& b = clocks.clocks[1];
    EXPECT_TRUE(b.known && b.differs() && !b.drifts);
    EXPECT_LE(std::abs(b.offset_ns - ahead), b.error_ns());
    EXPECT_LE(b.error_ns(), 2 * kMs);
    EXPECT_EQ(clocks.shift_ns(1), -b.offset_ns);
    EXPECT_EQ(b.collectives, 40u);
  }
}

TEST(Clocks, ARankThatAlwaysLeavesLateStaysWithinTheError) {
  std::vector<Rank> ranks = {rank(0, "a", 0, 40, 0), rank(1, "b", 0, 40, 0)};
  for (CollectiveCall& call : ranks[1].calls) call.dur_ns += 300'000;  // no clock differs
  const Clock b = clocks_of(ranks).clocks[1];
  EXPECT_EQ(b.lower_quartile_ns, 300'000);
  EXPECT_LE(b.low_ns, 0);
  EXPECT_GE(b.high_ns, 0);
  EXPECT_FALSE(b.differs());
}

TEST(Clocks, TimesOfOneBootThatContradictEachOtherAreCompared) {
  std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "a", 3600 * 1000 * kMs)};
  for (Rank& r : ranks)
    for (size_t i = 0; i < r.calls.size(); i++) r.calls[i].sequence = i64(i);
  Clocks clocks = clocks_of(ranks);
  ASSERT_EQ(clocks.clocks.size(), 2u);
  EXPECT_TRUE(clocks.clocks[1].differs());
}

// The first call of one and the last of the other are lacking, or only the first of one.
TEST(Clocks, WhatWasMiscountedOnOneMachineIsNoOtherClock) {
  for (bool last : {false, true}) {
    std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "a", 0)};
    ranks[1].calls.erase(ranks[1].calls.begin());
    if (last) ranks[0].calls.pop_back();
    Clocks clocks = clocks_of(ranks);
    EXPECT_EQ(clocks.clocks.size(), 1u);
    for (const MatchedCalls& calls : match_calls(ranks)) EXPECT_FALSE(calls.complete);
  }
}

TEST(Clocks, CallsWhoseEndIsNotThatOfTheCollectiveTellNothing) {
  for (bool cut : {false, true}) {
    std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "a", 0)};
    for (size_t i = 0; i < 40; i++) {
      for (Rank& r : ranks) r.calls[i].sequence = i64(i);
      CollectiveCall& call = ranks[0].calls[i];
      call.dur_ns = 20'000;
      (cut ? call.is_cut : call.call_only) = true;
    }
    EXPECT_EQ(clocks_of(ranks).clocks.size(), 1u);
    for (const MatchedCalls& calls : match_calls(ranks)) EXPECT_FALSE(transfer_of(calls).has_value());
  }
}

TEST(Clocks, WithoutCollectivesNothingIsKnown) {
  Clocks clocks = clocks_of({rank(0, "a", 0), rank(1, "b", 5 * kMs, 0)});
  EXPECT_FALSE(clocks.clocks[1].known);
  EXPECT_EQ(clocks.shift_ns(1), 0);
}

TEST(Clocks, AThirdMachineIsReachedThroughTheSecond) {
  std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "b", 5 * kMs), rank(2, "c", 9 * kMs)};
  for (CollectiveCall& call : ranks[2].calls) call.group = "right", call.ranks = 2;
  std::vector<CollectiveCall> shared = rank(1, "b", 5 * kMs).calls;
  for (CollectiveCall& call : shared) call.group = "right", call.ranks = 2;
  ranks[1].calls.insert(ranks[1].calls.end(), shared.begin(), shared.end());
  for (u32 r : {0u, 1u})
    for (CollectiveCall& call : ranks[r].calls)
      if (call.group.empty()) call.ranks = 2;
  Clocks clocks = clocks_of(ranks);
  const Clock& c = clocks.clocks[2];
  EXPECT_TRUE(c.known);
  EXPECT_LE(std::abs(c.offset_ns - 9 * kMs), c.error_ns());
}

TEST(Clocks, DriftIsSaid) {
  std::vector<Rank> ranks = {rank(0, "a", 0), rank(1, "b", 0)};
  for (size_t i = 0; i < ranks[1].calls.size(); i++) ranks[1].calls[i].begin_ns += i64(i) * kMs;
  const Clock b = clocks_of(ranks).clocks[1];
  EXPECT_TRUE(b.drifts);
  EXPECT_LE(b.low_ns, b.offset_ns);
  EXPECT_GE(b.error_ns(), 10 * kMs);
}

TEST(Matching, ACallThatARankLacksLeavesOtherStepsAsTheyAre) {
  std::vector<Rank> ranks = {rank(0, "a", 0, 4), rank(1, "a", 0, 4)};
  for (Rank& r : ranks) {
    r.has_steps = true;
    for (i64 i = 0; i < 4; i++)
      r.steps.push_back({std::to_string(i), {i * 20 * kMs + 10 * kMs, i * 20 * kMs + 30 * kMs}, {}, {}});
  }
  ranks[1].calls.erase(ranks[1].calls.begin() + 1);
  u64 complete = 0;
  for (const MatchedCalls& calls : match_calls(ranks)) {
    complete += calls.complete;
    if (calls.complete) {
      EXPECT_NEAR(double(calls.members[0].call->time().end), double(calls.members[1].call->time().end), 1e6);
    }
  }
  EXPECT_EQ(complete, 3u);
}

TEST(Matching, AsManyCallsOfOtherStepsAreOthers) {
  std::vector<Rank> ranks = {rank(0, "a", 0, 4), rank(1, "b", 0, 4)};
  for (i64 r : {0, 1}) {
    ranks[size_t(r)].has_steps = true;
    for (i64 i = 0; i < 4; i++)
      ranks[size_t(r)].steps.push_back(
          {std::to_string(i + r), {i * 20 * kMs + 10 * kMs, i * 20 * kMs + 30 * kMs}, {}, {}});
  }
  u64 complete = 0;
  for (const MatchedCalls& calls : match_calls(ranks)) complete += calls.complete;
  EXPECT_EQ(complete, 3u);
}

TEST(Matching, ASequenceNumberThatOccursTwiceInARankIsTwoCollectives) {
  std::vector<Rank> ranks = {rank(0, "a", 0, 2), rank(1, "a", 0, 2)};
  for (Rank& r : ranks)
    for (CollectiveCall& call : r.calls) call.sequence = 7;
  EXPECT_EQ(match_calls(ranks).size(), 2u);
}

}  // namespace
}  // namespace tprof
