// What follows from all ranks of a job: stages to blame, the critical path, who sends to whom, what is doubtful.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/ranks/distributed.h"
#include "analysis/ranks/doubts.h"
#include "analysis/ranks/job_path.h"
#include "analysis/ranks/matrix.h"
#include "report/communication.h"

namespace tprof {
namespace {

constexpr i64 kMs = 1'000'000;

// Steps of 20 ms that end together with one all-reduce of 1 ms and its waiting; own work by stage. `leaves_late_ns`:
// what the rank needs to be through with it after the others, in the next step.
Rank rank(i32 number, StageTimes own, int steps = 10, i64 leaves_late_ns = 0) {
  Rank out;
  out.number = number;
  out.world_size = 2;
  out.worker = "w" + std::to_string(number);
  out.boot = "a";
  out.has_steps = true;
  out.work = {100, 1000};
  i64 busy = 0;
  for (i64 ns : own) busy += ns;
  for (i64 i = 0; i < steps; i++) {
    i64 at = i * 20 * kMs;
    CollectiveCall call;
    call.op = "gloo:all_reduce";
    call.bytes = 4000;
    call.ranks = 2;
    call.begin_ns = at + busy + leaves_late_ns;
    call.dur_ns = at + 19 * kMs - call.begin_ns + leaves_late_ns;
    RankStep step{std::to_string(i), {at, at + 20 * kMs}, own, {}};
    step.stages[u32(Stage::collective)] = 20 * kMs - busy;
    out.steps.push_back(step);
    out.calls.push_back(call);
    out.span_ns += 20 * kMs;
  }
  return out;
}

StageTimes stages(i64 loader, i64 forward, i64 python) {
  StageTimes out{};
  out[u32(Stage::loader)] = loader * kMs;
  out[u32(Stage::forward)] = forward * kMs;
  out[u32(Stage::python)] = python * kMs;
  return out;
}

TEST(Stages, TheOneThatIsLongerIsBlamed) {
  struct Case {
    StageTimes slow;
    Stage blamed;
  };
  for (const Case& c : {Case{stages(6, 5, 3), Stage::loader}, Case{stages(2, 9, 3), Stage::forward},
                        Case{stages(2, 5, 7), Stage::python}}) {
    Distributed d = distributed({rank(0, stages(2, 5, 3)), rank(1, c.slow)});
    EXPECT_EQ(d.waits[1].straggler, Straggler::yes);
    EXPECT_EQ(d.waits[1].excess_in, c.blamed);
    EXPECT_EQ(d.waits[1].excess_in_ns, 4 * kMs);
    EXPECT_EQ(d.waits[0].straggler, Straggler::no);
  }
}

TEST(Stages, TheFrontierSumsToTheLongestStep) {
  Distributed d = distributed({rank(0, stages(2, 5, 3)), rank(1, stages(6, 5, 3))});
  i64 sum = 0;
  for (const StageRow& row : d.stages) sum += row.frontier_ns;
  EXPECT_EQ(sum, 20 * kMs);
  ASSERT_FALSE(d.stages.empty());
  EXPECT_EQ(d.stages[0].stage, Stage::loader);
  EXPECT_EQ(d.stages[0].frontier_ns, 6 * kMs);
  EXPECT_EQ(d.stages[0].slowest, 1u);
  EXPECT_EQ(d.stages[0].slowest_in, 10u);
  EXPECT_EQ(d.stages[0].excess_ns, 4 * kMs);
}

TEST(Stages, ARankThatLeavesCollectivesLateIsBlamedForThem) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3), 12), rank(1, stages(2, 5, 3), 12, 2 * kMs)};
  Distributed d = distributed(ranks);
  EXPECT_EQ(d.waits[1].straggler, Straggler::yes);
  EXPECT_TRUE(d.waits[1].leaves_late);
  EXPECT_EQ(d.waits[1].excess_in, Stage::collective);
  EXPECT_NE(d.waits[0].straggler, Straggler::yes);
  ranks[1].boot = "b";  // another machine: its clock may be 2 ms ahead
  for (const RankWait& wait : distributed(ranks).waits) EXPECT_NE(wait.straggler, Straggler::yes);
}

TEST(Stages, MoreWorkIsToldFromASlowMachine) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(2, 9, 3))};
  auto last = [&] { return waiting_lines(distributed(ranks), ranks).back(); };
  EXPECT_NE(last().find("as many operators of the same size"), std::string::npos) << last();
  ranks[1].work.elements = 1500;
  EXPECT_NE(last().find("50 % larger"), std::string::npos) << last();
  ranks[1].work = {130, -1};
  EXPECT_NE(last().find("30 % more operators"), std::string::npos) << last();
}

TEST(JobPath, GoesThroughWhoArrivedLast) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(6, 5, 3))};
  JobPath path = job_path(ranks);
  EXPECT_EQ(path.steps, 10u);
  EXPECT_EQ(path.total_ns, 10 * 20 * kMs);
  ASSERT_FALSE(path.rows.empty());
  EXPECT_EQ(path.rows[0].rank, 1u);
  EXPECT_EQ(path.rows[0].op, "");
  EXPECT_EQ(path.rows[0].ns, 10 * 14 * kMs);  // its own work until it enters the all-reduce
  auto transfer = std::find_if(path.rows.begin(), path.rows.end(), [](const JobPathRow& r) { return !r.op.empty(); });
  ASSERT_NE(transfer, path.rows.end());
  EXPECT_EQ(transfer->ns, 10 * 5 * kMs);
  EXPECT_EQ(path.changes, 10u);  // the steps are equally long, and the first rank's end is looked at
}

TEST(JobPath, EndsWhereFalselyMatchedCallsLeadBackToWhereItWas) {
  auto of = [](i32 number, std::vector<std::pair<const char*, Interval>> calls) {
    Rank out = rank(number, stages(2, 5, 3), 0);
    out.steps.push_back({"1", {0, 100 * kMs}, {}, {}});
    for (const auto& [op, time] : calls) {
      CollectiveCall call;
      call.op = op;
      call.ranks = 2;
      call.begin_ns = time.begin * kMs;
      call.dur_ns = time.length() * kMs;
      out.calls.push_back(call);
    }
    return out;
  };
  JobPath path = job_path({of(0, {{"nccl:all_reduce", {10, 30}}, {"nccl:all_gather", {40, 50}}}),
                           of(1, {{"nccl:all_gather", {1, 15}}, {"nccl:all_reduce", {20, 30}}})});
  EXPECT_EQ(path.steps, 1u);
  EXPECT_LE(path.total_ns, 200 * kMs);
}

TEST(JobPath, AStepThatARankHasTwiceIsNotTakenForOneOfTwoRanks) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3), 1), rank(1, stages(2, 5, 3), 1)};
  ranks[0].steps.push_back(ranks[0].steps[0]);
  ranks[1].steps[0].name = "another";
  EXPECT_EQ(job_path(ranks).steps, 0u);
  EXPECT_EQ(distributed(ranks).compared, 0u);
}

TEST(Matrix, AllReducesSendPartsToAllOthersAndSendsToTheirPeer) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(2, 5, 3))};
  CollectiveCall send;
  send.op = "gloo:send", send.peer = 1, send.bytes = 7, send.begin_ns = 1;
  ranks[0].calls.insert(ranks[0].calls.begin(), send);
  CollectiveCall recv = send;
  recv.op = "gloo:recv", recv.peer = 0;
  ranks[1].calls.insert(ranks[1].calls.begin(), recv);
  CommunicationMatrix matrix = communication_matrix(ranks);
  ASSERT_EQ(matrix.transfers.size(), 2u);
  EXPECT_EQ(matrix.transfers[0].bytes, 10 * 2 * 4000 / 2 + 7);
  EXPECT_EQ(matrix.transfers[0].to, 1);
  EXPECT_EQ(matrix.transfers[1].bytes, 10 * 2 * 4000 / 2);
  EXPECT_EQ(matrix.unknown, 0u);
  EXPECT_EQ(distributed(ranks).unmatched, 0u);
}

// Bytes of a call are those of all parts together, where it has them.
TEST(Matrix, AGatherSendsOnePartOfEach) {
  for (const char* op : {"gather", "scatter"}) {
    std::vector<Rank> ranks = {rank(0, stages(2, 5, 3), 1), rank(1, stages(2, 5, 3), 1)};
    for (Rank& r : ranks) r.calls[0].op = op, r.calls[0].peer = 0, r.calls[0].bytes = 2000;
    ranks[1].calls[0].bytes = 1000;
    CommunicationMatrix matrix = communication_matrix(ranks);
    ASSERT_EQ(matrix.transfers.size(), 1u);
    EXPECT_EQ(matrix.transfers[0].bytes, 1000) << op;
    EXPECT_EQ(matrix.transfers[0].to, std::string(op) == "gather" ? 0 : 1);
  }
}

TEST(Matrix, WhatIsNotKnownIsCounted) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3), 2), rank(1, stages(2, 5, 3), 2)};
  for (Rank& r : ranks) r.calls[0].bytes = -1, r.calls[1].op = "gloo:broadcast";
  EXPECT_EQ(communication_matrix(ranks).unknown, 2u);
}

TEST(Doubts, AreNamed) {
  std::vector<Rank> ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(2, 5, 3))};
  EXPECT_TRUE(doubts_of(ranks).empty());
  auto only = [&] {
    std::vector<std::string> lines = doubts_of(ranks);
    EXPECT_EQ(lines.size(), 1u);
    return lines.empty() ? "" : lines[0];
  };
  for (Rank& r : ranks) r.world_size = 4;
  EXPECT_EQ(only(), "there is no trace that can be read of rank 2, rank 3 of 4");
  ranks[0].world_size = ranks[1].world_size = 2;
  ranks[1].boot = "b";
  for (CollectiveCall& call : ranks[1].calls) call.begin_ns += 3'600'000 * kMs;
  for (RankStep& step : ranks[1].steps) step.time.begin += 3'600'000 * kMs, step.time.end += 3'600'000 * kMs;
  EXPECT_NE(only().find("the clock is 3"), std::string::npos);
  ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(2, 5, 3))};
  ranks[1].calls.clear();
  ranks[1].has_steps = false;
  EXPECT_EQ(doubts_of(ranks).size(), 2u);
  ranks = {rank(0, stages(2, 5, 3)), rank(1, stages(2, 5, 3))};
  ranks[1].world_size = 1;
  EXPECT_NE(only().find("several jobs"), std::string::npos);
  EXPECT_TRUE(doubts_of({ranks[1]}).empty());
}

}  // namespace
}  // namespace tprof
