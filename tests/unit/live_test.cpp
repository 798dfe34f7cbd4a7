// What `tprof top` keeps of a program: ranges, sums of the last seconds, steps and their parts, workers, ranks.
#include <gtest/gtest.h>

#include "live/program.h"
#include "live/schedule.h"
#include "live/slow_ranks.h"
#include "recording_builder.h"

namespace tprof::live {
namespace {

using namespace test;

// --- the ranges of a thread

class NestTest : public testing::Test {
 protected:
  ThreadNest nest{[this](const EndedRange& r) { told.push_back(r); },
                  [this](RecordRef ref) {
                    asked.push_back(ref);
                    return ends.count(ref) ? ends[ref] : 0;
                  }};
  std::vector<EndedRange> told;
  std::vector<RecordRef> asked;
  std::map<RecordRef, u64> ends;
};

TEST_F(NestTest, SelfTimeIsWithoutTheRangesInside) {
  nest.add(1, 10, 100, 200, 1, 1);
  nest.add(2, 11, 110, 150, 1, 1);
  nest.add(3, 12, 120, 130, 1, 1);
  nest.add(4, 13, 160, 170, 1, 1);
  nest.add(5, 14, 300, 310, 1, 1);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].name, 12u);
  EXPECT_EQ(told[0].self, 10u);
  EXPECT_EQ(told[1].name, 11u);
  EXPECT_EQ(told[1].self, 30u);
  EXPECT_FALSE(told[1].outermost);
  EXPECT_EQ(told[3].name, 10u);
  EXPECT_EQ(told[3].self, 50u);
  EXPECT_TRUE(told[3].outermost);
  EXPECT_TRUE(asked.empty()) << "all ends were known";
}

TEST_F(NestTest, ARangeThatEndedSinceItWasReadHoldsNothingThatCameAfter) {
  nest.add(1, 10, 100, 0, 1, 1);
  ends[1] = 150;
  nest.add(2, 11, 160, 170, 1, 2);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].end, 150u);
  EXPECT_EQ(told[0].self, 50u);
}

TEST_F(NestTest, TheEndOfAnOpenRangeIsReadOnceForEachPieceOfTheFile) {
  nest.add(1, 10, 100, 0, 1, 1);
  for (u64 i = 0; i < 50; i++) nest.add(2 + i, 11, 110 + 10 * i, 115 + 10 * i, 1, 2);
  EXPECT_EQ(asked.size(), 1u);
  nest.add(100, 11, 5000, 5001, 1, 3);
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(NestTest, ARangeIsToldWhenALookBeganAfterItsEndWasKnown) {
  nest.add(1, 10, 100, 0, 1, 1);
  ends[1] = 200;
  nest.look_is_over(1);
  EXPECT_TRUE(told.empty()) << "what lies inside of it may not have been read";
  nest.add(2, 11, 150, 160, 1, 2);
  nest.look_is_over(1);
  nest.look_is_over(1);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].name, 10u);
  EXPECT_EQ(told[1].self, 90u);
  EXPECT_TRUE(nest.empty());
}

TEST_F(NestTest, AnEndInAnotherChunkEndsARange) {
  nest.add(1, 10, 100, 0, 1, 1);
  nest.end(1, 130);
  nest.look_is_over(1);
  nest.look_is_over(1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].end, 130u);
}

TEST_F(NestTest, AnOuterRangeThatRunsIsToldInPartsThatDoNotOverlap) {
  std::vector<EndedRange> parts;
  auto add = [&](const EndedRange& r) { parts.push_back(r); };
  nest.add(1, 10, 100, 0, 1, 1);
  nest.tell_open(150, add);
  nest.tell_open(180, add);
  ends[1] = 190;
  nest.add(2, 11, 200, 210, 1, 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].begin, 100u);
  EXPECT_EQ(parts[1].begin, 150u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].begin, 180u) << "what was told before is not told again";
  EXPECT_EQ(told[0].self, 90u);
  EXPECT_EQ(told[0].total, 90u);
}

TEST_F(NestTest, WhatHasNoEndWhenItsPhaseIsOverIsDropped) {
  nest.add(1, 10, 100, 0, 1, 1);
  nest.add(2, 11, 110, 120, 1, 1);
  nest.add(3, 12, 500, 510, 3, 2);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].name, 11u);
  nest.look_is_over(0xffffffff);
  EXPECT_TRUE(nest.empty());
}

// --- sums

TEST(RecentSums, HoldTheLastSecondsThatHadAnything) {
  RecentSums<u32> sums;
  sums.add(100, 150, 7, {1, 2, 1});
  sums.add(100, 350, 7, {10, 20, 1});
  EXPECT_EQ(sums.sums()[7].self, 11u);
  sums.add(100, 560, 8, {100, 200, 1});
  EXPECT_EQ(sums.sums()[7].self, 11u) << "the slots 1 to 5";
  sums.add(100, 660, 8, {100, 200, 1});
  EXPECT_EQ(sums.sums()[7].self, 10u) << "slot 1 is too old";
  sums.add(100, 5000, 9, {1, 1, 1});
  EXPECT_EQ(sums.sums().size(), 1u);
  sums.add(100, 160, 7, {1, 1, 1});
  EXPECT_EQ(sums.sums().size(), 1u) << "what comes too late counts nowhere";
}

TEST(Breakdown, AMomentCountsForTheFirstCategoryThatIsBusy) {
  Breakdown b;
  b.add(Category::cpu, 0, 60);
  b.add(Category::cpu, 20, 40);
  b.add(Category::communication, 50, 70);
  b.add(Category::data_loading, 65, 80);
  b.finish({{5, 0, 100, {}}});
  MeanStep mean = b.mean(1000);
  EXPECT_EQ(mean.steps, 1u);
  EXPECT_EQ(mean.first, 5);
  EXPECT_EQ(mean.ticks, 100);
  EXPECT_EQ(mean.by[u32(Category::communication)], 20);
  EXPECT_EQ(mean.by[u32(Category::data_loading)], 10);
  EXPECT_EQ(mean.by[u32(Category::cpu)], 50);
  EXPECT_EQ(mean.by[u32(Category::other)], 20);
}

TEST(Breakdown, TheMeanIsOfTheLastStepsInARow) {
  Breakdown b;
  b.finish({{1, 0, 100, {}}, {2, 100, 200, {}}});
  b.finish({{7, 600, 800, {}}, {8, 800, 1000, {}}, {9, 1000, 1300, {}}});
  EXPECT_EQ(b.mean(1'000'000).first, 7) << "between 2 and 7 nothing was recorded";
  EXPECT_EQ(b.mean(350).first, 8);
  EXPECT_EQ(b.mean(350).ticks, 250);
  EXPECT_EQ(b.mean(1).steps, 1u) << "one step is shown, however long ago";
  b.forget_from(8);
  EXPECT_EQ(b.mean(1'000'000).last, 7);
}

TEST(Breakdown, KeepsABoundedNumberOfIntervals) {
  Breakdown b;
  for (u64 i = 0; i < Breakdown::kMostIntervals + 10; i++) b.add(Category::cpu, 2 * i, 2 * i + 1);
  u64 end = 3 * Breakdown::kMostIntervals;
  b.finish({{0, 0, end, {}}});
  EXPECT_TRUE(b.overflowed());
  EXPECT_EQ(b.mean(1).steps, 0u) << "too little of it is known";
  b.finish({{1, end, end + 100, {}}});
  EXPECT_FALSE(b.overflowed());
  EXPECT_EQ(b.mean(1).steps, 1u);
}

class StepRecordsTest : public testing::Test {
 protected:
  void add(i64 number, u64 begin, u64 end, u32 flags) {
    StepRecord r{{u16(Kind::step), sizeof(StepRecord) / 8, 5}, number, begin, end, flags, kPid};
    auto ref = RecordRef(file.size());
    file.push_back(r);
    steps.add({&r.head, ref, 0, 0});
  }
  std::vector<i64> settled(u64 until = ~u64(0)) {
    std::vector<i64> out;
    for (const StepParts& s : steps.settled(until, [&](RecordRef ref, StepRecord&r) { r = file[ref]; }))
      out.push_back(s.number);
    return out;
  }
  StepRecords steps;
  std::vector<StepRecord> file;
};

TEST_F(StepRecordsTest, AStepIsSettledOnceTheNextOneIsCertain) {
  add(0, 0, 100, kStepHasWork);
  add(1, 100, 0, kStepTentative);
  EXPECT_TRUE(settled().empty()) << "step 1 may be withdrawn, and step 0 then goes on";
  file[1].flags = kStepHasWork;
  EXPECT_EQ(settled(50), std::vector<i64>{}) << "it ended later";
  EXPECT_EQ(settled(), std::vector<i64>{0});
  EXPECT_TRUE(settled().empty()) << "each step once";
}

TEST_F(StepRecordsTest, AWithdrawnStepIsNone) {
  add(0, 0, 100, kStepHasWork);
  add(1, 100, 0, kStepTentative);
  file[1].flags = kStepWithdrawn;
  file[0].end_ticks = 0;
  add(1, 200, 300, kStepHasWork);
  file[0].end_ticks = 200;
  EXPECT_EQ(settled(), (std::vector<i64>{0, 1}));
}

TEST_F(StepRecordsTest, AStepWithoutAnEndIsLeftOutOnceAnotherOneIsCertain) {
  add(3, 0, 0, kStepHasWork);
  EXPECT_TRUE(settled().empty());
  add(10, 500, 600, kStepHasWork);
  EXPECT_EQ(settled(), std::vector<i64>{10});
}

TEST(StepsNow, RatesOfTheLastSecondsAndOfAll) {
  StepsNow s;
  constexpr i64 kSecond = 1'000'000'000;
  EXPECT_EQ(s.number(), -1);
  EXPECT_LT(s.recent(), 0);
  // 10 steps a second for 10 s, then 2 a second.
  for (i64 at = 1; at <= 10; at++) s.see(at * kSecond, at * 10, at * kSecond, 0, 0);
  EXPECT_NEAR(s.recent(), 10, 0.01);
  for (i64 at = 11; at <= 20; at++) s.see(at * kSecond, 100 + (at - 10) * 2, at * kSecond, 0, 0);
  EXPECT_NEAR(s.recent(), 2, 0.01);
  EXPECT_NEAR(s.mean(), 6, 0.01);
  // The step does not end.
  s.see(40 * kSecond, 120, 20 * kSecond, 0, 0);
  EXPECT_LT(s.recent(), 1);
  EXPECT_EQ(s.running(), 20 * kSecond);
}

TEST(StepsNow, CountingThatStartsAgainForgetsWhatWas) {
  StepsNow s;
  s.see(1000, 50, 900, 0, 0);
  s.see(2000, 60, 1900, 0, 0);
  s.see(3000, 0, 2900, 0, 2900);
  EXPECT_LT(s.recent(), 0);
  EXPECT_LT(s.mean(), 0);
  EXPECT_EQ(s.number(), 0);
}

// --- phases

std::string said(const char* schedule, PhaseNow now, bool profiler_api = false) {
  Schedule s;
  OptionError error;
  EXPECT_TRUE(!*schedule || parse_schedule(schedule, s, error)) << error.text;
  WindowSource source;
  source.profiler_api = profiler_api;
  return phase_text(s, source, now);
}

TEST(PhaseText, SaysWhatIsRecordedAndWhenTheNextWindowComes) {
  const char* schedule = "skip_first=10,wait=20,warmup=1,active=3,repeat=4";
  EXPECT_EQ(said(schedule, {Phase::wait, 12, 2, 0}), "waits for window 1: step 30, in 18 steps, about 9 s");
  EXPECT_EQ(said(schedule, {Phase::wait, -1, -1, 0}), "waits for window 1: step 30");
  EXPECT_EQ(said(schedule, {Phase::warmup, 30, 2, 1}), "warms up window 1");
  EXPECT_EQ(said(schedule, {Phase::active, 32, 2, 1, 31}), "records steps 31 to 33 (window 1)");
  EXPECT_EQ(said(schedule, {Phase::wait, 40, 2, 1, 31, 34}), "waits for window 2: step 54, in 14 steps, about 7 s");
  EXPECT_EQ(said(schedule, {Phase::wait, 53, 2, 1, 31, 34}), "waits for window 2: step 54, in 1 step, about 1 s");
  EXPECT_EQ(said(schedule, {Phase::ended, 400, 2, 4, 103, 106}), "has recorded all 4 windows of its schedule");
  EXPECT_EQ(said("", {Phase::active, 5, 2, 1}), "records");
  EXPECT_EQ(said("wait=1000000,active=1", {Phase::wait, 0, 1, 0}),
            "waits for window 1: step 1000000, in 1000000 steps, about 277.8 h");
}

TEST(PhaseText, SaysWhatElseIsWaitedFor) {
  EXPECT_EQ(said("", {Phase::wait, 5, 2, 0}, true), "waits for cudaProfilerStart");
  PhaseNow by_hand{Phase::wait, 5, 2, 0};
  by_hand.autostart = false;
  EXPECT_EQ(said("", by_hand), "waits for tprof_start()");
  EXPECT_EQ(said("wait=5,active=2", {Phase::wait, 6, 2, 1, 5, -1}), "is paused: an evaluation, or inference");
}

// --- workers of a data loader

class LoaderWorkTest : public testing::Test {
 protected:
  static constexpr u64 kSecond = 1'000'000'000;
  LoaderWorkTest() {
    header.clock_kind = u32(ClockKind::monotonic_ns);
    header.loader.loader = 1;
  }
  void add(LoaderPart part, u64 begin, u64 end) {
    LoaderRecord r{};
    r.head.id = u32(part);
    r.begin_ticks = begin;
    r.end_ticks = end;
    work.add(r, time);
  }
  LoaderView at(u64 now, LoaderPart part, u64 since) {
    time.add({now, now, now});
    header.loader.part = u32(part);
    header.loader.since_ticks = since;
    return work.view(header, time);
  }
  FileHeader header{};
  HostTime time{header, false};
  LoaderWork work;
};

TEST_F(LoaderWorkTest, AWorkerThatIsStuckInAFetchSpendsAllOfTheLastSecondsInIt) {
  add(LoaderPart::wait, 10 * kSecond, 14 * kSecond);
  add(LoaderPart::fetch, 14 * kSecond, 15 * kSecond);
  LoaderView soon = at(15 * kSecond, LoaderPart::fetch, 15 * kSecond);
  EXPECT_NEAR(soon.fetching, 0.25, 0.01);
  EXPECT_EQ(soon.fetch_ns, i64(kSecond));
  EXPECT_NEAR(at(17 * kSecond, LoaderPart::fetch, 15 * kSecond).fetching, 0.75, 0.01);
  LoaderView stuck = at(600 * kSecond, LoaderPart::fetch, 15 * kSecond);
  EXPECT_EQ(stuck.fetching, 1);
  EXPECT_EQ(stuck.since_ns, i64(585 * kSecond));
  EXPECT_EQ(stuck.fetch_ns, -1) << "none has ended in the last seconds";
}

TEST_F(LoaderWorkTest, OfALongPartTheLastSecondsCount) {
  add(LoaderPart::fetch, 10 * kSecond, 110 * kSecond);
  LoaderView v = at(112 * kSecond, LoaderPart::wait, 110 * kSecond);
  EXPECT_NEAR(v.fetching, 0.5, 0.01) << "from 108 to 112";
  EXPECT_EQ(v.fetch_ns, i64(100 * kSecond));
}

TEST_F(LoaderWorkTest, ItsShareIsNotKnownWhileNothingIsRecorded) {
  add(LoaderPart::fetch, 10 * kSecond, 11 * kSecond);
  EXPECT_LT(at(30 * kSecond, LoaderPart::wait, 29 * kSecond).fetching, 0);
  EXPECT_EQ(at(35 * kSecond, LoaderPart::wait, 29 * kSecond).fetching, 0) << "it waits all the time";
}

// Damage: a clock so slow that a second has one tick, and a part that lasts until the end of all ticks.
TEST_F(LoaderWorkTest, APartThatIsDamagedIsAddedInNoTime) {
  header.clock_kind = u32(ClockKind::tsc);
  HostTime slow(header, false);
  slow.add({1, 1, 1});
  slow.add({2, 1, 10 * kSecond});
  LoaderRecord r{};
  r.head.id = u32(LoaderPart::fetch);
  r.end_ticks = ~u64(0);
  work.add(r, slow);
  EXPECT_EQ(work.view(header, slow).pid, 0u);
}

// --- ranks

std::vector<ProgramView> ranks_of(std::vector<double> own, double step) {
  std::vector<ProgramView> out(own.size());
  for (size_t i = 0; i < own.size(); i++) {
    out[i].rank = i32(i);
    out[i].world_size = i32(own.size());
    out[i].own_ns = own[i];
    out[i].recent.ns = step;
    out[i].recent.steps = 10;
    out[i].recent.first = 20;
    out[i].recent.last = 29;
  }
  return out;
}

// The indices of those that are called slow.
std::vector<size_t> slow_ones(std::vector<ProgramView>& programs) {
  mark_slow_ranks(programs);
  std::vector<size_t> out;
  for (size_t i = 0; i < programs.size(); i++)
    if (programs[i].slow) out.push_back(i);
  return out;
}

using Indices = std::vector<size_t>;

TEST(SlowRanks, AreThoseWhosePartOutsideOfCommunicationIsLonger) {
  auto ranks = ranks_of({50, 80, 55}, 100);
  EXPECT_EQ(slow_ones(ranks), Indices{1});
  EXPECT_EQ(ranks[1].next_own_ns, 55);
  ranks = ranks_of({50, 54}, 60);
  EXPECT_EQ(slow_ones(ranks), Indices{}) << "less than a tenth longer";
  ranks = ranks_of({5, 8}, 100);
  EXPECT_EQ(slow_ones(ranks), Indices{}) << "a twentieth of a step does not matter";
  ranks = ranks_of({50, -1}, 60);
  EXPECT_EQ(slow_ones(ranks), Indices{}) << "there is nothing to compare it with";
  ranks = ranks_of({50, 90}, 100);
  ranks[0].ended = true;
  EXPECT_EQ(slow_ones(ranks), Indices{});
}

TEST(SlowRanks, ProgramsThatAreNoRanksAreNotCompared) {
  auto programs = ranks_of({50, 90}, 100);
  for (ProgramView& p : programs) p.rank = p.world_size = -1;
  EXPECT_EQ(slow_ones(programs), Indices{}) << "two runs in one directory";
  programs[0].rank = 0;
  EXPECT_EQ(slow_ones(programs), Indices{});
}

TEST(SlowRanks, JobsAreJudgedEachForItself) {
  auto programs = ranks_of({50, 80}, 100), others = ranks_of({5, 5, 9}, 20);
  programs.insert(programs.end(), others.begin(), others.end());
  EXPECT_EQ(slow_ones(programs), (Indices{1, 4}));
  EXPECT_EQ(programs[4].next_own_ns, 5);
  programs = ranks_of({50, 80}, 100);
  others = ranks_of({5, 9}, 20);
  programs.insert(programs.end(), others.begin(), others.end());
  EXPECT_EQ(slow_ones(programs), Indices{}) << "which ranks belong together is not known";
}

TEST(SlowRanks, OnlyRanksAreComparedOfWhichTheSameStepsAreKnown) {
  auto ranks = ranks_of({90, 50, 55}, 100);
  ranks[0].recent.first = 1;
  ranks[0].recent.last = 10;
  EXPECT_EQ(slow_ones(ranks), Indices{}) << "it was slow in former steps";
  ranks[0].recent.last = 20;
  EXPECT_EQ(slow_ones(ranks), Indices{0});
}

}  // namespace
}  // namespace tprof::live
