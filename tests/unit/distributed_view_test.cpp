// Each rank in each step, its collectives, and the GPUs of the nodes.
#include "analysis/ranks/distributed_view.h"

#include <gtest/gtest.h>

#include "analysis/ranks/distributed.h"
#include "model_builder.h"
#include "report/distributed_tables.h"

namespace tprof {
namespace {

// Two steps of 10 ms with one all-reduce each; the rank comes `late_us` late to it, and it takes 100 us from when the
// latest came. A kernel of 100 us runs over its begin.
ModelBuilder job(int number, i64 late_us, i64 latest_us) {
  ModelBuilder b;
  b.raw().rank = number;
  b.raw().world_size = 2;
  b.raw().host = number ? "beta" : "alpha";
  b.raw().pid = u32(100 + number);
  b.device(u32(number), 8, 0, u64(80) << 30, "Some GPU");
  for (i64 step = 0; step < 2; step++) {
    i64 at = 10'000 * step;
    b.step(at, at + 10'000);
    i64 begin = at + 1000 + late_us, end = at + 1000 + latest_us + 100;
    b.op("nccl:all_reduce", begin - 20, begin - 2, {{{1000}}});
    b.kernel("ncclDevKernel_AllReduce_Sum_f32", begin, end, b.call("cudaLaunchKernel", begin - 10, begin - 5), 7,
             u32(number));
    b.kernel("gemm", begin - 50, begin + 50, kNone, 8, u32(number));
  }
  return b;
}
Rank rank(ModelBuilder b, const std::string& worker) { return rank_of(b.model(), worker); }

DistributedView view_of(const std::vector<Rank>& ranks) { return distributed_view(ranks, distributed(ranks)); }

TEST(DistributedView, StepsSumToTheirParts) {
  DistributedView view = view_of({rank(job(0, 0, 300), "a"), rank(job(1, 300, 300), "b")});
  ASSERT_EQ(view.steps.size(), 6u);  // the mean of each, then step by step
  EXPECT_TRUE(view.steps[0].mean && view.steps[1].mean);
  for (const RankInStep& row : view.steps) {
    EXPECT_EQ(*row.computation_ns + *row.overlap_ns + *row.communication_ns + *row.other_ns, *row.total_ns);
    EXPECT_EQ(*row.transfer_ns + *row.synchronizing_ns + *row.undivided_ns, *row.overlap_ns + *row.communication_ns);
    EXPECT_EQ(*row.total_ns, 10'000'000);
    EXPECT_EQ(*row.overlap_ns, 50'000);
    EXPECT_EQ(*row.computation_ns, 50'000);
    EXPECT_EQ(*row.transfer_ns, 100'000);
    EXPECT_EQ(*row.synchronizing_ns, row.rank == 0 ? 300'000 : 0);
  }
  EXPECT_EQ(view.steps[2].step, "0");
  EXPECT_EQ(view.steps[5].step, "1");
  EXPECT_EQ(view.steps[5].rank, 1u);
}

TEST(DistributedView, OfOneRankNobodyKnowsWhatItWaitsFor) {
  DistributedView view = view_of({rank(job(0, 0, 300), "a")});
  for (const RankInStep& row : view.steps) {
    EXPECT_FALSE(row.transfer_ns || row.synchronizing_ns);
    EXPECT_EQ(*row.undivided_ns, 400'000);
  }
  EXPECT_FALSE(view.operations.at(0).transfer_ns);
  Table table = rank_steps_table(view);
  EXPECT_EQ(table.rows[0][static_cast<size_t>(table.column("data_transfer"))], Value());
}

TEST(DistributedView, ACallThatOneTraceLacksIsUndividedAlone) {
  std::vector<Rank> ranks = {rank(job(0, 0, 300), "a"), rank(job(1, 300, 300), "b")};
  for (Rank& r : ranks)
    for (size_t i = 0; i < 2; i++) r.calls[i].sequence = i64(i);
  ranks[1].calls.pop_back();
  DistributedView view = view_of(ranks);
  EXPECT_EQ(view.steps[2].synchronizing_ns, 300'000);  // step 0 of rank 0
  EXPECT_EQ(view.steps[2].undivided_ns, 0);
  EXPECT_EQ(view.steps[4].synchronizing_ns, std::nullopt);  // its step 1
  EXPECT_EQ(view.steps[4].undivided_ns, 400'000);
  EXPECT_EQ(view.steps[5].transfer_ns, 0);  // rank 1 has no call in it
}

TEST(DistributedView, OperationsOfTheRanksAddUpToTheTable) {
  std::vector<Rank> ranks = {rank(job(0, 0, 300), "a"), rank(job(1, 300, 300), "b")};
  Distributed found = distributed(ranks);
  CommunicationRow sum;
  for (const RankOperation& own : distributed_view(ranks, found).operations) {
    EXPECT_EQ(own.op, "nccl:all_reduce");
    EXPECT_EQ(own.calls, 2u);
    EXPECT_EQ(own.bytes, 8000);
    sum.calls += own.calls;
    sum.total_ns += own.total_ns;
    sum.transfer_ns += *own.transfer_ns;
  }
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(sum.calls, found.rows[0].calls);
  EXPECT_EQ(sum.total_ns, found.rows[0].total_ns);
  EXPECT_EQ(sum.transfer_ns, found.rows[0].transfer_ns);
}

TEST(DistributedView, GpusStandByNode) {
  DistributedView view = view_of({rank(job(1, 300, 300), "b"), rank(job(0, 0, 300), "a")});
  Table table = nodes_table(view);
  ASSERT_EQ(table.rows.size(), 2u);
  auto cell = [&](size_t row, const char* key) { return table.rows[row][static_cast<size_t>(table.column(key))]; };
  EXPECT_EQ(cell(0, "node"), Value("alpha"));
  EXPECT_EQ(cell(0, "process"), Value("100"));
  EXPECT_EQ(cell(0, "gpu"), Value(i64{0}));
  EXPECT_EQ(cell(1, "node"), Value("beta"));
  EXPECT_EQ(cell(1, "gpu"), Value(i64{1}));
  EXPECT_EQ(cell(1, "memory"), Value(i64{80} << 30));
  EXPECT_EQ(cell(1, "compute_capability"), Value("8.0"));
  EXPECT_NEAR(std::get<double>(cell(1, "utilization")), 100 * 150.0 / 10'000, 1e-9);
}

TEST(DistributedView, ARankWithoutGpuHasARowOfItsNode) {
  ModelBuilder b;
  b.raw().host = "alpha";
  b.op("gloo:all_reduce", 0, 100, {{{1000}}});
  DistributedView view = view_of({rank(std::move(b), "a")});
  ASSERT_EQ(view.gpus.size(), 1u);
  EXPECT_FALSE(view.gpus[0].gpu);
  EXPECT_EQ(nodes_table(view).footer.size(), 1u);
}

}  // namespace
}  // namespace tprof
