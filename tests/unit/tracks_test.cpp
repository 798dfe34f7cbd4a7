// The tracks of the timeline: which slices lie where, that none is lost, and what is said of a range of time.
#include "analysis/tables/tracks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/tables/counters.h"
#include "analysis/tables/slice_sums.h"
#include "model_builder.h"

namespace tprof {
namespace {

const Track* find(const Tracks& tracks, const std::string& key) {
  for (const Track& track : tracks.tracks)
    if (track.key == key) return &track;
  return nullptr;
}

// "name row" of each slice of a track.
std::vector<std::string> rows_of(const Model& model, const Tracks& tracks, const std::string& key) {
  std::vector<std::string> out;
  const Track* track = find(tracks, key);
  if (!track) return out;
  for (size_t row = 0; row < track->rows.size(); row++)
    for (size_t i = 0; i < track->rows[row].n; i++)
      out.push_back(model.names[tracks.slices[track->rows[row].first + i].name] + " " + std::to_string(row));
  return out;
}
using Texts = std::vector<std::string>;

// What holds of all tracks.
void check(const Tracks& tracks) {
  size_t next = 0;
  for (const Track& track : tracks.tracks) {
    size_t n = 0;
    std::vector<Interval> all;
    for (const TrackRow& row : track.rows) {
      EXPECT_EQ(row.first, next);
      EXPECT_GT(row.n, 0u);
      next += row.n;
      n += row.n;
      for (size_t i = row.first; i < row.first + row.n; i++) {
        const Slice& s = tracks.slices[i];
        all.push_back({s.begin_ns, s.end_ns()});
        EXPECT_TRUE(i == row.first || s.begin_ns >= tracks.slices[i - 1].end_ns()) << track.key;
      }
    }
    EXPECT_EQ(track.slices, n);
    EXPECT_EQ(track.busy_ns, IntervalSet(all).length()) << track.key;
  }
  EXPECT_EQ(next, tracks.slices.size());
}

TEST(Tracks, ModelWithoutEventsHasNone) {
  Model model = ModelBuilder().model();
  Tracks tracks = tracks_of(model);
  EXPECT_TRUE(tracks.tracks.empty() && tracks.slices.empty() && tracks.launch.empty());
  EXPECT_TRUE(slice_sums(model, tracks, {}).empty());
}

TEST(Tracks, CallsLieInTheOperatorsAroundThem) {
  ModelBuilder b;
  b.step(0, 100);
  b.op("aten::linear", 10, 60);
  b.op("aten::addmm", 20, 50);
  b.launch("gemm", 25, 70, 90);
  b.op("aten::relu", 60, 70);
  Model model = b.model();
  Tracks tracks = tracks_of(model);
  check(tracks);
  EXPECT_EQ(rows_of(model, tracks, "thread/1"),
            (Texts{"ProfilerStep#0 0", "aten::linear 1", "aten::relu 1", "aten::addmm 2", "cudaLaunchKernel 3"}));
  EXPECT_EQ(rows_of(model, tracks, "gpu/0/stream/7"), Texts{"gemm 0"});
  ASSERT_EQ(tracks.launch.size(), 1u);
  EXPECT_EQ(model.names[tracks.slices[tracks.launch[0].from].name], "cudaLaunchKernel");
  EXPECT_EQ(model.names[tracks.slices[tracks.launch[0].to].name], "gemm");
  EXPECT_EQ(tracks.slices[0].kind, SliceKind::step);
}

TEST(Tracks, KernelsThatCrossLieInDifferentRowsAndNoneIsLost) {
  ModelBuilder b;
  b.launch("a", 1, 10, 30);
  b.launch("b", 2, 20, 40);
  b.launch("c", 3, 30, 50);
  b.launch("inner", 4, 32, 38);  // whole inside of b and of c
  Model model = b.model();
  Tracks tracks = tracks_of(model);
  check(tracks);
  EXPECT_EQ(rows_of(model, tracks, "gpu/0/stream/7"), (Texts{"a 0", "c 0", "b 1", "inner 2"}));
  EXPECT_EQ(find(tracks, "gpu/0/stream/7")->busy_ns, 40'000);
}

TEST(Tracks, SlicesWithoutDurationStay) {
  ModelBuilder b;
  b.op("around", 0, 10);
  b.op("at once", 5, 5);
  b.op("also", 5, 5);
  b.op("at the end", 10, 10);
  Model model = b.model();
  Tracks tracks = tracks_of(model);
  check(tracks);
  EXPECT_EQ(rows_of(model, tracks, "thread/1"), (Texts{"around 0", "at the end 0", "at once 1", "also 1"}));
}

TEST(Tracks, RandomSlicesAreAllThereAndNeverOverlapInARow) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; round++) {
    ModelBuilder b;
    for (int i = 0; i < 200; i++) {
      i64 begin = i64(random() % 500), length = i64(random() % (round % 2 ? 5 : 200));
      b.launch("k" + std::to_string(i % 9), begin, begin, begin + length, 1, 7 + random() % 2);
    }
    Model model = b.model();
    Tracks tracks = tracks_of(model);
    check(tracks);
    EXPECT_EQ(tracks.slices.size(), model.gpu.size() + model.calls.size());
    EXPECT_EQ(tracks.launch.size(), 200u);
  }
}

TEST(Tracks, ChosenTimesHoldOnlyWhatOverlapsThemAndTheirArrows) {
  ModelBuilder b;
  b.op("first", 0, 10);
  b.launch("early", 1, 2, 5);
  b.op("second", 20, 30);
  b.launch("late", 21, 22, 25);
  Model model = b.model();
  IntervalSet times(20'000, 25'000);
  Tracks tracks = tracks_of(model, {true, &times});
  check(tracks);
  EXPECT_EQ(tracks.slices.size(), 3u);
  EXPECT_EQ(tracks.left_out, 3u);
  EXPECT_EQ(tracks.launch.size(), 1u);
}

TEST(SliceSums, SelfIsWhatNoRowBelowTakes) {
  ModelBuilder b;
  b.op("outer", 0, 100);
  b.op("inner", 10, 40);
  b.op("inner", 50, 60);
  Model model = b.model();
  std::vector<SliceSum> sums = slice_sums(model, tracks_of(model), {});
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].total_ns, 100'000);
  EXPECT_EQ(sums[0].self_ns, 60'000);
  EXPECT_EQ(sums[1].count, 2u);
  EXPECT_EQ(sums[1].min_ns, 10'000);
  EXPECT_EQ(sums[1].max_ns, 30'000);
}

TEST(SliceSums, RangeCutsWhatLiesAcrossItsEdges) {
  ModelBuilder b;
  b.op("outer", 0, 100);
  b.op("inner", 10, 40);
  b.op("beside", 60, 60);
  Model model = b.model();
  std::vector<SliceSum> sums = slice_sums(model, tracks_of(model), {20'000, 60'000});
  ASSERT_EQ(sums.size(), 2u);  // the end is not in the range
  EXPECT_EQ(sums[0].total_ns, 40'000);
  EXPECT_EQ(sums[0].self_ns, 20'000);
  EXPECT_EQ(sums[1].total_ns, 20'000);
  EXPECT_EQ(slice_sums(model, tracks_of(model), {60'000, 61'000}).size(), 2u);  // its begin is
}

}  // namespace
}  // namespace tprof
