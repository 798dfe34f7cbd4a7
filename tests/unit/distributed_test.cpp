// Collectives over the ranks of a job.
#include "analysis/ranks/distributed.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/advice/advice.h"
#include "analysis/ranks/stragglers.h"
#include "model_builder.h"
#include "report/communication.h"

namespace tprof {
namespace {

// Two all-reduces of 1000 floats; the rank comes `late_us` late to each and waits accordingly less.
Rank rank(int number, i64 late_us, i64 latest_us, int calls = 2) {
  ModelBuilder b;
  b.step(0, 10'000);
  for (i64 i = 0; i < calls; i++) {
    i64 begin = 1000 + i * 2000 + late_us, end = 1000 + i * 2000 + latest_us + 100;
    b.op("nccl:all_reduce", begin - 20, begin - 2, {{{1000}}});
    b.launch("ncclDevKernel_AllReduce_Sum_f32", begin - 10, begin, end);
    b.kernel("gemm", begin - 50, begin + 50, kNone, 8);
  }
  return rank_of(b.model(), "rank" + std::to_string(number));
}

TEST(Distributed, SplitsTransferFromWaiting) {
  std::vector<Rank> ranks = {rank(0, 0, 300), rank(1, 300, 300)};
  Distributed d = distributed(ranks);
  ASSERT_EQ(d.rows.size(), 1u);
  const CommunicationRow& row = d.rows[0];
  EXPECT_EQ(row.op, "nccl:all_reduce");
  EXPECT_EQ(row.calls, 4u);
  EXPECT_EQ(row.collectives, 2u);
  EXPECT_EQ(row.total_ns, 2 * (400'000 + 100'000));
  EXPECT_EQ(row.transfer_ns, 4 * 100'000);
  EXPECT_EQ(row.bytes, 2 * 4000);
  EXPECT_EQ(row.longest_skew_ns, 300'000);
  EXPECT_DOUBLE_EQ(row.alg_gbps, 4000.0 / 100'000);
  EXPECT_DOUBLE_EQ(row.bus_gbps, row.alg_gbps);  // 2 (2-1)/2
  EXPECT_EQ(d.waits[0].wait_ns, 600'000);
  EXPECT_EQ(d.waits[1].wait_ns, 0);
  EXPECT_EQ(d.waits[1].late_ns, 600'000);
  EXPECT_EQ(d.unmatched, 0u);
}

CollectiveCall call(const char* op, i32 group_size, i32 peer = -1) {
  CollectiveCall out;
  out.op = op;
  out.group = "1";
  out.ranks = group_size;
  out.peer = peer;
  out.dur_ns = 1000;
  return out;
}

Rank rank_of_calls(int number, std::vector<CollectiveCall> calls) {
  Rank out;
  out.number = number;
  out.world_size = 3;
  out.calls = std::move(calls);
  return out;
}

TEST(Distributed, AGroupOfOneRankLacksNobody) {
  Distributed d = distributed({rank_of_calls(0, {call("gloo:all_reduce", 1)}), rank_of_calls(1, {})});
  EXPECT_EQ(d.unmatched, 0u);
  EXPECT_TRUE(d.rows[0].waits);
  EXPECT_EQ(d.rows[0].transfer_ns, 1000);
}

TEST(Distributed, WhatIsReceivedFromAnySourceIsWhatOthersSentBesides) {
  std::vector<Rank> ranks = {rank_of_calls(0, {call("gloo:recvAnySource", 3), call("gloo:recvAnySource", 3),
                                               call("gloo:recv", 3, 1)}),
                             rank_of_calls(1, {call("gloo:send", 3, 0), call("gloo:send", 3, 0)}),
                             rank_of_calls(2, {call("gloo:send", 3, 0)})};
  EXPECT_EQ(distributed(ranks).unmatched, 0u);
  ranks[2].calls.clear();  // its trace does not have it
  EXPECT_EQ(distributed(ranks).unmatched, 3u);
}

TEST(Distributed, ABarrierHasNoSizeThatCouldBeUnknown) {
  std::vector<Rank> ranks = {rank_of_calls(0, {call("gloo:barrier", 2)}), rank_of_calls(1, {call("gloo:barrier", 2)})};
  EXPECT_EQ(distributed(ranks).rows[0].unknown_size, 0u);
}

TEST(Distributed, OverlapIsThePartThatComputationHides) {
  Rank r = rank(0, 0, 100);
  EXPECT_EQ(r.overlap_ns, 2 * 50'000);
  EXPECT_EQ(r.computation_ns, 2 * 50'000);
  EXPECT_EQ(r.communication_ns, 2 * 150'000);
  EXPECT_EQ(r.computation_ns + r.overlap_ns + r.communication_ns + r.other_ns, r.span_ns);
}

TEST(Distributed, GpuWorkCountsForThePhaseOfItsOperator) {
  ModelBuilder b;
  b.step(0, 10'000);
  b.op("aten::mm", 1000, 1100);
  b.launch("gemm", 1050, 1500, 2500);
  b.op("autograd::engine::evaluate_function: MmBackward0", 2000, 2200);
  b.op("aten::mm", 2010, 2100);
  b.launch("gemm", 2050, 2500, 5500);  // while the kernel without an operator runs
  b.label("Optimizer.step#SGD.step", 3000, 3200);
  b.op("aten::add_", 3010, 3100);
  b.launch("elementwise", 3050, 5500, 5600);
  b.kernel("somebody", 5000, 7000, kNone, 8);
  Rank r = rank_of(b.model(), "rank0");
  const StageTimes& stages = r.steps[0].stages;
  EXPECT_EQ(stages[u32(Stage::forward)], 1'000'000);
  EXPECT_EQ(stages[u32(Stage::backward)], 3'000'000);
  EXPECT_EQ(stages[u32(Stage::optimizer)], 100'000);
  EXPECT_EQ(stages[u32(Stage::kernels)], 1'400'000);
  i64 sum = 0;
  for (i64 ns : stages) sum += ns;
  EXPECT_EQ(sum, 10'000'000);
}

// A call of one rank in a group that no trace lists: the world is 3, 1, of which 3 is the first.
CollectiveCall unlisted(const std::string& op, i32 place, i32 peer) {
  CollectiveCall call;
  call.op = op;
  call.group = "abc";
  call.ranks = 2;
  call.group_rank = place;
  call.peer = peer;
  call.dur_ns = 1000;
  return call;
}

TEST(Distributed, MembersOfACommunicatorAreLearntFromTheirTraces) {
  std::vector<Rank> ranks(3);
  for (u32 r = 0; r < 3; r++) {
    ranks[r].number = i32(r) + 1;
    ranks[r].world_size = 4;
  }
  ranks[0].calls = {unlisted("send", 1, 0)};
  ranks[2].calls = {unlisted("recv", 0, 1)};
  keep_ranks(ranks);
  EXPECT_EQ(ranks[0].calls[0].group_ranks, "[3, 1]");
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.unmatched, 0u);
  ranks[2].calls.clear();
  ranks[0].calls = {unlisted("send", 1, 0)};
  keep_ranks(ranks);
  EXPECT_EQ(ranks[0].calls[0].group_ranks, "");
  EXPECT_EQ(ranks[0].calls[0].peer, -1);
}

TEST(Distributed, OfCallsWithoutAKernelOnlyTheBeginsAreCompared) {
  std::vector<Rank> ranks(2);
  for (u32 r = 0; r < 2; r++) {
    ranks[r].number = i32(r);
    CollectiveCall call = unlisted("allreduce", i32(r), -1);
    call.call_only = true;
    call.sequence = 1;
    call.bytes = 400;
    call.begin_ns = r * 5000;
    ranks[r].calls = {call};
  }
  Distributed d = distributed(ranks);
  ASSERT_EQ(d.rows.size(), 1u);
  EXPECT_FALSE(d.rows[0].waits);
  EXPECT_EQ(d.rows[0].bus_gbps, -1);
  EXPECT_EQ(d.rows[0].bytes, 400);
  EXPECT_EQ(d.rows[0].longest_skew_ns, 5000);
  EXPECT_EQ(d.call_only, 2u);
  EXPECT_EQ(d.unmatched, 0u);
}

TEST(Distributed, OneRankKnowsNothingOfWaiting) {
  Distributed d = distributed({rank(0, 0, 300)});
  EXPECT_FALSE(d.rows[0].waits);
  EXPECT_TRUE(d.waits.empty());
  EXPECT_FALSE(d.notes.empty());
}

TEST(Distributed, RanksWithOtherCountsAreComparedWhereTheyMatch) {
  Distributed d = distributed({rank(0, 0, 300), rank(1, 300, 300, 3)});
  EXPECT_EQ(d.unmatched, 1u);
  EXPECT_EQ(d.rows[0].collectives, 3u);
  EXPECT_EQ(d.waits[0].wait_ns, 600'000);
}

TEST(Distributed, SequenceNumbersAlignWhatIndicesDoNot) {
  std::vector<Rank> ranks = {rank(0, 0, 300, 3), rank(1, 300, 300, 3)};
  for (Rank& r : ranks)
    for (size_t i = 0; i < 3; i++) r.calls[i].sequence = i64(i);
  ranks[1].calls.erase(ranks[1].calls.begin());  // its trace began later
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.unmatched, 1u);
  EXPECT_EQ(d.rows[0].longest_skew_ns, 300'000);
}

// Steps of 10 ms on gloo; all end together. `own_us` of each step is the rank's own time, the rest an all-reduce.
constexpr i64 kStepUs = 10'000;
ModelBuilder worker(const std::vector<i64>& own_us) {
  ModelBuilder b;
  for (size_t i = 0; i < own_us.size(); i++) {
    i64 begin = i64(i) * kStepUs;
    b.step(begin, begin + kStepUs);
    b.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, begin + own_us[i] / 2);
    b.op("aten::mm", begin + own_us[i] / 2, begin + own_us[i]);
    b.op("gloo:all_reduce", begin + own_us[i], begin + kStepUs, {{{1000}}});
  }
  return b;
}
Rank numbered(int number, ModelBuilder b, int world = 2) {
  b.raw().rank = number;
  b.raw().world_size = world;
  return rank_of(b.model(), "host_" + std::to_string(4711 + number));
}
std::vector<Straggler> answers(const std::vector<std::vector<i64>>& own_us) {
  std::vector<Rank> ranks;
  for (size_t r = 0; r < own_us.size(); r++) ranks.push_back(numbered(int(r), worker(own_us[r]), int(own_us.size())));
  std::vector<Straggler> out;
  for (const RankWait& wait : distributed(ranks).waits) out.push_back(wait.straggler);
  return out;
}
using enum Straggler;
using Answers = std::vector<Straggler>;

TEST(Stragglers, OfTwoRanksTheOneThatIsAlwaysSlowerIsNamed) {
  std::vector<i64> quick(8, 2000), slow(8, 9000);
  EXPECT_EQ(answers({quick, slow}), (Answers{no, yes}));
}

TEST(Stragglers, OfEightRanksFourStepsAreEnough) {
  std::vector<std::vector<i64>> own;
  for (i64 i = 0; i < 8; i++) own.push_back(std::vector<i64>(4, i == 5 ? 9000 : 2000 + i));
  EXPECT_EQ(answers(own), (Answers{no, no, no, no, no, yes, no, no}));
  for (std::vector<i64>& steps : own) steps.resize(3);
  EXPECT_EQ(answers(own), Answers(8, unknown));
}

TEST(Stragglers, FewStepsAreNotEnoughEvidence) {
  EXPECT_EQ(answers({std::vector<i64>(7, 2000), std::vector<i64>(7, 9000)}), (Answers{unknown, unknown}));
  EXPECT_EQ(answers({std::vector<i64>(1, 2000), std::vector<i64>(1, 9000)}), (Answers{unknown, unknown}));
}

TEST(Stragglers, RanksThatAreEquallyLateAreNone) {
  std::vector<i64> even, odd;
  for (i64 i = 0; i < 20; i++) even.push_back(i % 2 ? 5000 : 9000), odd.push_back(i % 2 ? 9004 : 5000);
  std::vector<Rank> ranks = {numbered(0, worker(even)), numbered(1, worker(odd))};
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.waits[0].late_ns, 40'000'000);  // 4.000 against 4.004 ms in each of ten steps
  EXPECT_EQ(d.waits[1].late_ns, 40'040'000);
  for (const RankWait& wait : d.waits) EXPECT_EQ(wait.straggler, no);
}

TEST(Stragglers, LessThanAPercentOfAStepIsNothing) {
  EXPECT_EQ(answers({std::vector<i64>(50, 5000), std::vector<i64>(50, 5099)}), (Answers{no, no}));
  EXPECT_EQ(answers({std::vector<i64>(50, 5000), std::vector<i64>(50, 5101)}), (Answers{no, yes}));
}

TEST(Stragglers, SlowInMostStepsIsNotEnoughIfChanceExplainsIt) {
  std::vector<i64> one(8, 2000), other = {9000, 9000, 9000, 9000, 9000, 9000, 1000, 1000};
  EXPECT_EQ(answers({one, other}), (Answers{no, unknown}));  // 6 of 8: 0.29
}

TEST(Stragglers, TwoThatShareASlowMachineAreBothNamed) {
  std::vector<i64> quick(12, 2000), even, odd;
  for (i64 i = 0; i < 12; i++) even.push_back(i % 2 ? 8000 : 9000), odd.push_back(i % 2 ? 9000 : 8000);
  EXPECT_EQ(answers({quick, even, quick, odd}), (Answers{no, yes, no, yes}));
}

TEST(Stragglers, WithoutStepsPartsBetweenCollectivesAreCompared) {
  std::vector<Rank> ranks;
  for (int r = 0; r < 2; r++) {
    ModelBuilder b;
    for (i64 i = 0; i < 40; i++) {
      i64 begin = i * 1000, own = r ? 700 : 300;
      b.op("aten::mm", begin, begin + own);
      b.op("gloo:all_reduce", begin + own, begin + 1000);
    }
    ranks.push_back(numbered(r, std::move(b)));
  }
  Distributed d = distributed(ranks);
  EXPECT_FALSE(d.compared_steps);
  EXPECT_EQ(d.compared, kMaxParts);
  EXPECT_EQ(d.waits[1].slowest_in, kMaxParts);
  EXPECT_EQ(d.waits[1].straggler, yes);
  EXPECT_EQ(d.waits[0].straggler, no);
}

TEST(Stragglers, TheStageThatGrewIsNamed) {
  std::vector<Rank> ranks = {numbered(0, worker(std::vector<i64>(8, 2000))),
                             numbered(1, worker(std::vector<i64>(8, 9000)))};
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.waits[1].excess_ns, 7'000'000);
  EXPECT_EQ(d.waits[1].excess_in, Stage::loader);
  EXPECT_EQ(d.waits[1].excess_in_ns, 3'500'000);
  std::vector<std::string> lines = waiting_lines(d, ranks);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "rank 0 waits 7.000ms of each step (70.0 %) in collectives, most of it for rank 1");
  EXPECT_EQ(lines[1],
            "rank 1 keeps the other ranks waiting: its own work took longest in 8 of 8 steps, on average by 7.000ms of "
            "10.000ms");
}

TEST(Stragglers, WaitingIsSaidWithoutEvidenceForAStraggler) {
  std::vector<Rank> ranks = {numbered(0, worker({2000, 2000})), numbered(1, worker({9000, 9000}))};
  std::vector<std::string> lines = waiting_lines(distributed(ranks), ranks);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("rank 0 waits 7.000ms"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("not enough evidence"), std::string::npos) << lines[1];
}

// Own times of `steps` steps that differ by up to `noise_us` at random, the same for all ranks but the last one, which
// takes `more_us` in addition. Returns whether any rank is called a straggler, and whether the last one is.
std::pair<bool, bool> found_in(std::mt19937& random, int ranks, int steps, u32 noise_us, i64 more_us) {
  std::vector<std::vector<i64>> own;
  for (int r = 0; r < ranks; r++) {
    own.emplace_back();
    i64 least = 2000 + (r + 1 == ranks ? more_us : 0);
    for (int i = 0; i < steps; i++) own.back().push_back(least + i64(random() % noise_us));
  }
  Answers found = answers(own);
  return {std::count(found.begin(), found.end(), yes) > 0, found.back() == yes};
}

TEST(Stragglers, RanksThatDifferByChanceAloneAreSeldomNamed) {
  std::mt19937 random(5);
  for (int ranks : {2, 8})
    for (int steps : {1, 8, 20}) {
      int named = 0;
      for (int round = 0; round < 100; round++) named += found_in(random, ranks, steps, 5000, 0).first;
      EXPECT_LE(named, 3) << ranks << " ranks, " << steps << " steps";  // 1 % of 100, and two standard deviations
    }
}

TEST(Stragglers, OneThatIsSlowerThanTheNoiseIsFound) {
  std::mt19937 random(6);
  for (int ranks : {2, 3, 4, 8}) {
    int named = 0;
    for (int round = 0; round < 40; round++) named += found_in(random, ranks, 20, 1000, 700).second;
    EXPECT_GE(named, 38) << ranks << " ranks";
  }
}

TEST(Distributed, AMomentIsWaitedOnce) {
  std::vector<Rank> ranks;
  for (int r = 0; r < 2; r++) {  // three all-reduces at once, for all of which the second rank is late
    ModelBuilder b;
    b.step(0, 1000);
    for (u32 thread = 0; thread < 3; thread++) b.op("gloo:all_reduce", r ? 800 : 100, 900, {}, 2 + thread);
    ranks.push_back(numbered(r, std::move(b)));
  }
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.waits[0].wait_ns, 700'000);
  EXPECT_EQ(d.waits[1].late_ns, 700'000);
  EXPECT_EQ(d.waits[0].for_rank, 1u);
  EXPECT_EQ(d.rows[0].total_ns - d.rows[0].transfer_ns, 3 * 700'000);  // of calls
}

TEST(Distributed, WithoutAGpuOperatorsAreComputation) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::mm", 100, 300);
  b.op("aten::relu", 200, 400, {}, 2);  // another thread
  b.op("gloo:all_reduce", 350, 600, {}, 3);
  b.op("c10d::barrier", 600, 700);
  b.label("mine", 700, 900);
  Rank r = numbered(0, std::move(b));
  EXPECT_EQ(r.computation_ns, 250'000);
  EXPECT_EQ(r.overlap_ns, 50'000);
  EXPECT_EQ(r.communication_ns, 200'000);
  EXPECT_EQ(r.computation_ns + r.overlap_ns + r.communication_ns + r.other_ns, r.span_ns);
}

TEST(Distributed, RanksComeByNumberAndAreNamedByIt) {
  std::vector<Rank> ranks;
  for (int r : {10, 2, -1, 0}) ranks.push_back(numbered(r, worker({2000}), 11));
  EXPECT_EQ(keep_ranks(ranks), 1u);  // a process without a number is none of them
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[0].text(), "rank 0");
  EXPECT_EQ(ranks[1].text(), "rank 2");
  EXPECT_EQ(ranks[2].text(), "rank 10");
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.notes[0], "traces of 3 of 11 ranks: how long they wait for the others is not known");
}

TEST(Distributed, OtherStepsOfARankAreSaid) {
  std::vector<Rank> ranks = {numbered(0, worker({2000, 2000})), numbered(1, worker({2000, 2000}))};
  EXPECT_EQ(uneven_steps(ranks), "");
  ranks[1].host = "b";
  ranks[1].steps.pop_back();
  EXPECT_EQ(uneven_steps(ranks).find("the ranks did not make equally many steps: 1 on rank 1 (b), 2 on rank 0;"), 0u)
      << uneven_steps(ranks);
  ranks[0].steps.erase(ranks[0].steps.begin());
  EXPECT_NE(uneven_steps(ranks).find("step 1 on rank 0, step 0 on rank 1 (b)"), std::string::npos)
      << uneven_steps(ranks);
  ranks[1].has_steps = false;
  EXPECT_EQ(uneven_steps(ranks), "");
}

TEST(Distributed, AProcessWithoutCollectivesIsNoRank) {
  std::vector<Rank> ranks = {numbered(0, worker({2000})), numbered(1, worker({9000})), rank_of(Model(), "launcher")};
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.unmatched, 0u);
  EXPECT_EQ(d.waits[0].wait_ns, 7'000'000);
  EXPECT_EQ(d.waits[2].straggler, unknown);
}

// What advice of one rank gets to know of the others.
struct OfRank {
  explicit OfRank(ModelBuilder b, i64 wait_us = -1) : model(b.model()), table(device_table()), facts(model, table) {
    if (wait_us >= 0) facts.rank = {wait_us * 1000, "rank 1"};
    advice = advise(facts);
  }
  const Advice* find(const std::string& id) const {
    for (const Advice& a : advice)
      if (a.rule->id == id) return &a;
    return nullptr;
  }
  Model model;
  std::vector<DevicePeak> table;
  Facts facts;
  std::vector<Advice> advice;
};

TEST(AdviceOfRanks, WaitingIsNotCommunicationThatCouldBeLess) {
  auto steps = [] { return worker({2000, 2000, 2000}); };
  OfRank alone(steps());
  ASSERT_NE(alone.find("CM1"), nullptr);
  EXPECT_EQ(alone.find("RK1"), nullptr);
  OfRank waits(steps(), 3 * 7000);  // of 8 ms each
  EXPECT_EQ(waits.find("CM1"), nullptr);
  ASSERT_NE(waits.find("RK1"), nullptr);
  EXPECT_EQ(waits.find("RK1")->grade, Grade::high);
  EXPECT_NEAR(waits.find("RK1")->match.share, 0.7, 1e-9);
  EXPECT_NE(waits.find("RK1")->match.what.find("for rank 1"), std::string::npos);
  OfRank transfers(steps(), 3 * 2000);
  ASSERT_NE(transfers.find("CM1"), nullptr);
  EXPECT_NEAR(transfers.find("CM1")->match.share, 0.6, 1e-9);
  EXPECT_LE(transfers.find("CM1")->match.saving_ns, 3e6);
}

TEST(AdviceOfRanks, ShortWaitsAreNoFinding) {
  EXPECT_EQ(OfRank(worker({2000, 2000, 2000}), 3 * 500).find("RK1"), nullptr);
  EXPECT_NE(OfRank(worker({2000, 2000, 2000}), 3 * 501).find("RK1"), nullptr);
}

TEST(Distributed, GlooRunsOnTheCpu) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("gloo:all_reduce", 100, 300, {{{250}}});
  Rank r = rank_of(b.model(), "rank0");
  EXPECT_FALSE(r.on_gpu);
  ASSERT_EQ(r.calls.size(), 1u);
  EXPECT_EQ(r.calls[0].bytes, 1000);
  EXPECT_EQ(r.communication_ns, 200'000);
}

}  // namespace
}  // namespace tprof
