// Collectives over the ranks of a job.
#include "analysis/distributed.h"

#include <gtest/gtest.h>

#include "model_builder.h"

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

TEST(Distributed, OverlapIsThePartThatComputationHides) {
  Rank r = rank(0, 0, 100);
  EXPECT_EQ(r.overlap_ns, 2 * 50'000);
  EXPECT_EQ(r.computation_ns, 2 * 50'000);
  EXPECT_EQ(r.communication_ns, 2 * 150'000);
  EXPECT_EQ(r.computation_ns + r.overlap_ns + r.communication_ns + r.other_ns, r.span_ns);
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

TEST(Distributed, NamesTheStraggler) {
  std::vector<Rank> ranks;
  for (int i = 0; i < 8; i++) ranks.push_back(rank(i, i == 5 ? 900 : i, 900));
  Distributed d = distributed(ranks);
  for (int i = 0; i < 8; i++) EXPECT_EQ(d.waits[size_t(i)].straggler, i == 5) << i;
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
