// How busy GPUs were over time.
#include "model/gpu/series.h"

#include <gtest/gtest.h>

#include <random>

#include "model_builder.h"

namespace tprof {
namespace {

Model spanning(ModelBuilder& b, i64 begin_us, i64 end_us) {
  Model model = b.model();
  model.begin_ns = begin_us * 1000;
  model.end_ns = end_us * 1000;
  return model;
}

TEST(GpuSeries, StretchesAreAPowerOfTenOfMicrosecondsAndAtMostAHundred) {
  EXPECT_EQ(series_edges(0, 100'000).size(), 101u);  // 100 of 1 us
  EXPECT_EQ(series_edges(0, 101'000).size(), 11u);   // 10 of 10 us
  EXPECT_EQ(series_edges(500, 109'500), (std::vector<i64>{500, 10'500, 20'500, 30'500, 40'500, 50'500, 60'500, 70'500,
                                                          80'500, 90'500, 109'500}));  // the last one is longer
  EXPECT_TRUE(series_edges(0, 999).empty());
}

TEST(GpuSeries, IsTheShareOfEachStretchThatKernelsFill) {
  ModelBuilder b;
  b.raw().gpu.reserve(8);
  for (auto [begin, end, blocks] : {std::tuple<i64, i64, float>{5, 10, 0.5f}, {8, 16, 0.25f}, {95, 140, 3.f}})
    b.raw().gpu[b.kernel("k", begin, end)].blocks_per_sm = blocks;
  b.kernel("other GPU", 0, 10, kNone, 7, 1);
  std::vector<GpuSeries> series = gpu_series(spanning(b, 0, 200));
  ASSERT_EQ(series.size(), 2u);
  const std::vector<GpuSeries::Stretch>& first = series[0].stretches;
  ASSERT_EQ(first.size(), 20u);  // of 10 us
  EXPECT_DOUBLE_EQ(first[0].utilization, 0.5);
  EXPECT_DOUBLE_EQ(first[0].sm_efficiency, (3 * 0.5 + 2 * 0.75) / 10);
  EXPECT_DOUBLE_EQ(first[1].utilization, 0.6);
  EXPECT_DOUBLE_EQ(first[1].sm_efficiency, 6 * 0.25 / 10);
  EXPECT_DOUBLE_EQ(first[9].sm_efficiency, 0.5);
  EXPECT_DOUBLE_EQ(first[10].utilization, 1);
  EXPECT_DOUBLE_EQ(first[10].sm_efficiency, 1);
  EXPECT_DOUBLE_EQ(first[14].utilization, 0);
  EXPECT_DOUBLE_EQ(series[1].stretches[0].utilization, 1);
  EXPECT_DOUBLE_EQ(series[1].stretches[0].sm_efficiency, -1);  // its kernel does not say
}

TEST(GpuSeries, KernelsBeyondTheSpanCountAsFarAsTheyLieInIt) {
  ModelBuilder b;
  b.kernel("early", -50, 15);
  b.kernel("late", 995, 5000);
  std::vector<GpuSeries::Stretch> all = gpu_series(spanning(b, 0, 1000))[0].stretches;
  ASSERT_EQ(all.size(), 100u);
  EXPECT_DOUBLE_EQ(all[0].utilization, 1);
  EXPECT_DOUBLE_EQ(all[1].utilization, 0.5);
  EXPECT_DOUBLE_EQ(all[99].utilization, 0.5);
}

// Every kernel begins and ends at a whole one.
TEST(GpuSeries, EqualsCountingEachMicrosecond) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 20; turn++) {
    ModelBuilder b;
    constexpr i64 kSpan = 437;
    std::vector<double> blocks(kSpan);
    std::vector<bool> busy(kSpan);
    for (int i = 0; i < 60; i++) {
      i64 begin = i64(random() % kSpan), end = std::min<i64>(kSpan, begin + i64(random() % 40));
      float each = float(random() % 4) / 8;
      b.raw().gpu[b.kernel("k", begin, end)].blocks_per_sm = each > 0 ? each : -1;
      for (auto us = size_t(begin); us < size_t(end); us++) busy[us] = true, blocks[us] += each;
    }
    std::vector<GpuSeries> series = gpu_series(spanning(b, 0, kSpan));
    for (const GpuSeries::Stretch& s : series.at(0).stretches) {
      double filled = 0, used = 0;
      for (auto us = size_t(s.begin_ns / 1000); us < size_t(s.end_ns / 1000); us++)
        filled += std::min(1.0, blocks[us]), used += busy[us];
      EXPECT_NEAR(s.utilization, used * 1000 / double(s.end_ns - s.begin_ns), 1e-9);
      EXPECT_NEAR(s.sm_efficiency, filled * 1000 / double(s.end_ns - s.begin_ns), 1e-9);
    }
  }
}

}  // namespace
}  // namespace tprof
