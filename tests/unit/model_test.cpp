// Recording -> Model: selection by time, clipping, ends, steps, nesting, lanes, links, clocks.
#include <gtest/gtest.h>

#include "model/build.h"
#include "model/spans.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart;

class ModelTest : public testing::Test {
 protected:
  // A window of [begin, end) of which every range is active.
  void active(u64 begin, u64 end, WindowState state = WindowState::sealed) {
    b.window(0, state, 0, -1, begin, begin, end);
  }

  Model build(size_t window = 0) {
    b.write(path());
    recording = Recording::open(path());
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(window), meta));
  }
  std::string path() const { return dir.path + "/r.tprof"; }
  static const Event* find(const Model& m, const std::string& name) {
    for (const Event& e : m.events)
      if (m.name_of(e) == name) return &e;
    return nullptr;
  }
  static i64 ns(u64 ticks) { return i64(kWall + (ticks - kStart) - kBase); }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
};

TEST_F(ModelTest, SelectsByBeginAlone) {
  active(kT + 100, kT + 200);
  b.range(kPid, 1, "before", kT + 50, kT + 150);
  b.range(kPid, 1, "first", kT + 100, kT + 110);
  b.range(kPid, 2, "late_chunk", kT + 150, kT + 160);
  b.range(kPid, 1, "after", kT + 200, kT + 210);
  Model m = build();
  ASSERT_EQ(m.events.size(), 2u);
  EXPECT_EQ(m.name_of(m.events[0]), "first");
  EXPECT_EQ(m.events[0].begin_ns, ns(kT + 100));
  EXPECT_EQ(m.events[0].dur_ns, 10);
  EXPECT_EQ(m.name_of(m.events[1]), "late_chunk");
  EXPECT_EQ(m.ledger.seen(), 2u);
  EXPECT_EQ(m.ledger.written, 2u);
}

TEST_F(ModelTest, ChangesOfMemoryOfImpossibleSizesAreLeftOutAndCounted) {
  active(kT, kT + 200);
  b.range(kPid, 1, "op", kT + 10, kT + 90);
  b.memory(kPid, 1, kT + 20, 64, 64);
  b.memory(kPid, 1, kT + 30, INT64_MIN, 64);
  b.memory(kPid, 1, kT + 40, INT64_MAX, 64);
  b.memory(kPid, 1, kT + 50, INT64_MAX, 64, kMemoryOutOfMemory, 0, -1, 0);
  Model m = build();
  EXPECT_EQ(m.memory.size(), 2u);
  EXPECT_EQ(m.ledger.dropped["no_size"], 2u);
}

TEST_F(ModelTest, CountsWarmup) {
  add_training(b, 6, 2, 4);
  Model m = build();
  EXPECT_EQ(m.ledger.discarded_warmup, 2 * kTrainingEvents);
  EXPECT_EQ(m.ledger.written, 2 * kTrainingEvents);
}

TEST_F(ModelTest, ClipsAtTheEnd) {
  active(kT, kT + 100);
  b.range(kPid, 1, "long", kT + 10, kT + 500);
  b.range(kPid, 1, "open", kT + 20, 0);
  Model m = build();
  for (const char* name : {"long", "open"}) {
    const Event* e = find(m, name);
    ASSERT_TRUE(e);
    EXPECT_NEAR(e->end_ns(), ns(kT + 100), kRoundingNs);
    EXPECT_TRUE(e->flags & kEventClipped);
    EXPECT_FALSE(e->flags & kEventUnfinished);
  }
  EXPECT_EQ(m.ledger.clipped, 2u);
}

TEST_F(ModelTest, UnfinishedEndsAtTheLastStamp) {
  active(kT, 0, WindowState::active);
  b.range(kPid, 1, "died_in", kT + 10, 0);
  b.range(kPid, 1, "done", kT + 20, kT + 11'000'000'000);
  Model m = build();
  const Event* e = find(m, "died_in");
  EXPECT_TRUE(e->flags & kEventUnfinished);
  EXPECT_FALSE(e->flags & kEventClipped);
  EXPECT_GE(e->end_ns(), ns(kT + 11'000'000'000));
  EXPECT_TRUE(m.process_ended_inside);
  EXPECT_FALSE(find(m, "done")->flags & (kEventUnfinished | kEventClipped));
}

TEST_F(ModelTest, RangeEndRecordsPatchEnds) {
  active(kT, kT + 1000);
  RecordRef early = b.range(kPid, 1, "early", kT + 10, 0);
  b.range_end(kPid + 1, 1, early, kT + 60);
  RecordRef other;
  {
    // The end lies in a chunk before the one of the begin.
    RecordRef next_chunk = RecordRef(5) << 32 | sizeof(ChunkHeader);
    b.range_end(kPid + 1, 1, next_chunk, kT + 70);
    b.range(kPid + 2, 1, "x", kT + 11, kT + 12);
    b.range(kPid + 3, 1, "y", kT + 11, kT + 12);
    other = b.range(kPid + 4, 1, "other", kT + 20, 0);
    EXPECT_EQ(other, next_chunk);
  }
  Model m = build();
  EXPECT_EQ(find(m, "early")->dur_ns, 50);
  EXPECT_EQ(find(m, "other")->dur_ns, 50);
  EXPECT_EQ(m.ledger.clipped, 0u);
}

TEST_F(ModelTest, StepsSpanToTheNextBegin) {
  add_training(b, 6, 2, 4);
  Model m = build();
  ASSERT_EQ(m.steps.size(), 2u);
  EXPECT_EQ(m.steps[0].number, 2);
  EXPECT_EQ(m.steps[1].number, 3);
  EXPECT_EQ(m.steps[0].end_ns + kRoundingNs, m.steps[1].begin_ns);
  EXPECT_EQ(m.name_of(m.events[m.steps[0].event]), "ProfilerStep#2");
  EXPECT_EQ(m.events[m.steps[0].event].parent, -1);
  EXPECT_EQ(m.name_of(m.events[size_t(find(m, "aten::linear")->parent)]), "ProfilerStep#2");
}

TEST_F(ModelTest, LastOpenStepEndsWithItsWork) {
  b.window(0, WindowState::active, 0, -1, kT, kT, 0);
  b.step(0, kT + 10, 0, kStepHasWork);
  b.range(kPid, 1, "aten::mm", kT + 20, kT + 30);
  b.range(kPid, 1, "Optimizer.step#SGD.step", kT + 40, kT + 50, {.scope = Scope::user});
  b.range(kPid, 1, "cleanup", kT + 60, kT + 9000, {.scope = Scope::user});
  Model m = build();
  ASSERT_EQ(m.steps.size(), 1u);
  EXPECT_EQ(m.steps[0].end_ns, ns(kT + 50));
}

TEST_F(ModelTest, StepWithoutWorkIsNoStep) {
  b.window(0, WindowState::active, 0, -1, kT, kT, 0);
  b.step(0, kT + 10, kT + 100);
  b.step(1, kT + 100, 0, 0);
  b.range(kPid, 1, "a", kT + 20, kT + 30);
  b.range(kPid, 1, "b", kT + 110, kT + 120);
  Model m = build();
  ASSERT_EQ(m.steps.size(), 1u);
  EXPECT_EQ(m.steps[0].end_ns, ns(kT + 100));
}

TEST_F(ModelTest, StepWithoutEventsIsNotWritten) {
  active(kT, kT + 1000);
  b.step(0, kT, kT + 100);
  b.step(1, kT + 100, kT + 200);
  b.step(2, kT + 200, kT + 300);
  b.range(kPid, 1, "a", kT + 10, kT + 20);
  b.range(kPid, 1, "c", kT + 210, kT + 220);
  Model m = build();
  ASSERT_EQ(m.steps.size(), 2u);
  EXPECT_EQ(m.steps[1].number, 2);
}

TEST_F(ModelTest, ScriptsOwnStepMarksAreReplaced) {
  active(kT, kT + 1000);
  b.step(7, kT + 5, kT + 500, kStepHasWork, StepBy::profiler_step);
  b.range(kPid, 1, "ProfilerStep#7", kT + 5, kT + 400, {.scope = Scope::user});
  b.range(kPid, 1, "op", kT + 10, kT + 20);
  Model m = build();
  EXPECT_EQ(m.ledger.replaced_step_marks, 1u);
  EXPECT_EQ(m.ledger.seen(), 1u);
  u64 marks = 0;
  for (const Event& e : m.events) marks += m.name_of(e) == "ProfilerStep#7";
  EXPECT_EQ(marks, 1u);
  EXPECT_EQ(m.steps[0].end_ns, ns(kT + 500));
}

TEST_F(ModelTest, WrapperTakesSequenceOfItsNode) {
  add_training(b, 3, 1, 2);
  Model m = build();
  const Event* wrapper = find(m, "autograd::engine::evaluate_function: AddmmBackward0");
  EXPECT_EQ(wrapper->sequence, 2);
  EXPECT_EQ(wrapper->forward_thread, 1u);
  EXPECT_EQ(find(m, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")->sequence, -1);
}

TEST_F(ModelTest, PairsInnermostForwardWithNode) {
  add_training(b, 3, 1, 2);
  Model m = build();
  ASSERT_EQ(m.pairs.size(), 1u);
  EXPECT_EQ(m.name_of(m.events[m.pairs[0].forward]), "aten::addmm");
  EXPECT_EQ(m.name_of(m.events[m.pairs[0].backward]), "AddmmBackward0");
}

TEST_F(ModelTest, NoPairWhenTheForwardIsOutside) {
  add_training(b, 1, 0, 1);
  b.window(1, WindowState::sealed, 0, 1, kT, kT + 1000 + 25'000, kT + 1000 + 100'000);
  b.retire(kPid, 1);
  Model m = build(1);
  EXPECT_TRUE(find(m, "AddmmBackward0"));
  EXPECT_TRUE(m.pairs.empty());
}

TEST_F(ModelTest, OnePairPerWrapper) {
  active(kT, kT + 1000);
  b.range(kPid, 1, "f1", kT + 10, kT + 20, {.sequence = 1});
  b.range(kPid, 1, "f2", kT + 30, kT + 40, {.sequence = 2});
  b.range(kPid, 1, "autograd::engine::evaluate_function: Two", kT + 100, kT + 200);
  b.range(kPid, 1, "One", kT + 110, kT + 120, {.scope = Scope::backward, .sequence = 1, .forward_thread = 1});
  b.range(kPid, 1, "Two", kT + 130, kT + 140, {.scope = Scope::backward, .sequence = 2, .forward_thread = 1});
  Model m = build();
  EXPECT_EQ(m.ledger.pairs, 1u);
  EXPECT_EQ(m.ledger.pairs_left_out, 1u);
}

TEST_F(ModelTest, NoPairsWhenTheSpanBeginsInABackward) {
  active(kT, kT + 10'000);
  b.range(kPid, 1, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", kT + 1, kT + 2);
  b.range(kPid, 1, "f", kT + 10, kT + 20, {.sequence = 1});
  b.range(kPid, 1, "autograd::engine::evaluate_function: One", kT + 100, kT + 200);
  b.range(kPid, 1, "One", kT + 110, kT + 120, {.scope = Scope::backward, .sequence = 1, .forward_thread = 1});
  Model m = build();
  EXPECT_TRUE(m.pairs.empty());
  EXPECT_EQ(m.ledger.pairs_left_out, 1u);
  EXPECT_FALSE(m.ledger.pairs_why.empty());
}

TEST_F(ModelTest, FoldsWhatIsTooDeep) {
  active(kT, kT + 10'000);
  for (u64 i = 0; i < 400; i++) b.range(kPid, 1, "level" + std::to_string(i), kT + 10 + i, kT + 5000 - i);
  Model m = build();
  EXPECT_EQ(m.ledger.dropped["folded_deep"], 250u);
  EXPECT_EQ(m.ledger.seen(), 400u);
  EXPECT_EQ(m.events.size(), 150u);
  EXPECT_EQ(m.events.back().depth, 149);
  EXPECT_EQ(m.events.back().parent, 148);
}

TEST_F(ModelTest, CrossingAsyncRangesGetLanes) {
  active(kT, kT + 100'000);
  b.range(kPid, 1, "op", kT + 10, kT + 5000);
  b.range(kPid, 1, "gloo:all_reduce", kT + 1000, kT + 20'000, {.scope = Scope::user, .flags = kRangeAsync});
  b.range(kPid, 1, "gloo:barrier", kT + 2000, kT + 30'000, {.scope = Scope::user, .flags = kRangeAsync});
  b.range(kPid, 1, "nested_async", kT + 3000, kT + 4000, {.scope = Scope::user, .flags = kRangeAsync});
  b.range(kPid, 1, "later", kT + 6000, kT + 40'000);
  Model m = build();
  auto thread = [&](const char* name) { return m.threads[find(m, name)->thread]; };
  EXPECT_EQ(thread("op").tid, kPid);
  EXPECT_EQ(thread("later").tid, kPid);
  EXPECT_EQ(thread("nested_async").tid, kPid);
  EXPECT_GE(thread("gloo:all_reduce").tid, kFirstLaneTid);
  EXPECT_GE(thread("gloo:barrier").tid, kFirstLaneTid);
  EXPECT_NE(thread("gloo:barrier").tid, thread("gloo:all_reduce").tid);
  EXPECT_EQ(thread("gloo:barrier").owner, kPid);
  EXPECT_EQ(m.ledger.lanes, 2u);
  EXPECT_EQ(m.ledger.written, 5u);
}

TEST_F(ModelTest, StepStaysAndTheLabelAcrossItMoves) {
  active(kT, kT + 100'000);
  b.step(0, kT + 100, kT + 10'000);
  b.step(1, kT + 10'000, kT + 20'000);
  b.range(kPid, 1, "label", kT + 5000, kT + 15'000, {.scope = Scope::user});
  b.range(kPid, 1, "epoch", kT + 10, kT + 50'000, {.scope = Scope::user});
  b.range(kPid, 1, "op", kT + 11'000, kT + 12'000);
  Model m = build();
  EXPECT_TRUE(m.threads[find(m, "label")->thread].is_lane());
  EXPECT_FALSE(m.threads[find(m, "epoch")->thread].is_lane());
  EXPECT_EQ(m.name_of(m.events[size_t(find(m, "op")->parent)]), "ProfilerStep#1");
  EXPECT_EQ(m.name_of(m.events[size_t(find(m, "ProfilerStep#1")->parent)]), "epoch");
}

TEST_F(ModelTest, SmallCrossingsAreClamped) {
  active(kT, kT + 100'000);
  b.range(kPid, 1, "outer", kT + 10, kT + 5000);
  b.range(kPid, 1, "inner", kT + 100, kT + 5003);
  Model m = build();
  EXPECT_EQ(find(m, "inner")->end_ns() + kRoundingNs, find(m, "outer")->end_ns());
  EXPECT_EQ(m.ledger.clamped, 1u);
  EXPECT_EQ(m.ledger.lanes, 0u);
}

TEST_F(ModelTest, OwnCostOfADamagedHeaderIsCut) {
  active(kT, kT + 1000);
  b.header.own_ticks = ~u64(0);
  EXPECT_EQ(build().own_ns, u64(1e18));
}

TEST_F(ModelTest, LostNamesAreCounted) {
  active(kT, kT + 1000);
  RecordRef ref = b.range(kPid, 1, "op", kT + 10, kT + 20);
  std::string all = b.bytes();
  size_t at = kHeaderBytes + (ref >> 32) * kChunkBytes + (ref & 0xffffffff);
  u32 nowhere = 77'777;
  memcpy(all.data() + at + offsetof(RecordHead, id), &nowhere, 4);
  std::ofstream(path(), std::ios::binary) << all;
  auto r = Recording::open(path());
  Meta meta = r->read_meta();
  Model m = build_model(*r, meta, request_of(meta.windows[0], meta));
  ASSERT_EQ(m.events.size(), 1u);
  EXPECT_EQ(m.ledger.names_lost, 1u);
}

TEST(ClockMap, InterpolatesBetweenTriples) {
  // The counter runs at 2 GHz in the first second and 2.2 GHz in the second.
  ClockMap map({{1000, 500, 100},
                {2'000'001'000, 1'000'000'500, 1'000'000'100},
                {4'200'001'000, 2'000'000'500, 2'000'000'100}},
               ClockKind::tsc, 0, false);
  EXPECT_EQ(map.monotonic_ns(1000), 100);
  EXPECT_EQ(map.monotonic_ns(1'000'001'000), 500'000'100);
  EXPECT_EQ(map.monotonic_ns(3'100'001'000), 1'500'000'100);
  EXPECT_EQ(map.wall_offset_ns(3'000'000'000), 400);
  i64 last = INT64_MIN;
  for (u64 ticks = 0; ticks < 5'000'000'000; ticks += 999'983) {
    EXPECT_GE(map.monotonic_ns(ticks), last);
    last = map.monotonic_ns(ticks);
  }
}

TEST(ClockMap, WallClockStepDoesNotBendTheSpan) {
  ClockMap map({{0, 1'000'000, 0}, {1000, 9'001'000, 1000}}, ClockKind::monotonic_ns, 0, false);
  EXPECT_EQ(map.wall_offset_ns(10), 1'000'000);
  EXPECT_EQ(map.monotonic_ns(999) - map.monotonic_ns(10), 989);
}

TEST(ClockMap, WallTimeComesBackByTheOffsetOfItsTime) {
  // The clock is set by 8 ms between 2 s and 3 s, forward or back; reading a triple takes up to some 100 ns.
  constexpr u64 kSecond = 1'000'000'000, kWallAt0 = 1'800'000'000'000'000'000;
  for (i64 set : {i64(8'000'000), i64(-8'000'000), i64(0)}) {
    std::vector<ClockTriple> triples;
    auto wall = [&](u64 ns) { return kWallAt0 + ns + (ns > 2 * kSecond + 500'000'000 ? u64(set) : 0); };
    for (u64 i = 0; i < 6; i++)
      triples.push_back({2 * i * kSecond, wall(i * kSecond) + (i % 2 ? 90 : 0), i * kSecond});  // 2 ticks per ns
    ClockMap map(triples, ClockKind::tsc, 0, false);
    for (u64 ns : {0ul, 1'999'999'999ul, 2'100'000'000ul, 2'900'000'000ul, 4'500'000'000ul, 5'500'000'000ul})
      EXPECT_NEAR(map.monotonic_of_wall(wall(ns)), ns, 100) << set << " " << ns;
  }
}

TEST(ClockMap, TicksAreTheInverse) {
  ClockMap map({{1000, 500, 100},
                {2'000'001'000, 1'000'000'500, 1'000'000'100},
                {4'200'001'000, 2'000'000'500, 2'000'000'100}},
               ClockKind::tsc, 0, false);
  for (u64 ticks = 0; ticks < 6'000'000'000; ticks += 99'999'989)
    EXPECT_NEAR(double(map.ticks_at(map.monotonic_ns(ticks))), double(ticks), 3);
  EXPECT_TRUE(map.is_sane(0));
  EXPECT_FALSE(map.is_sane(INT64_MAX));
  EXPECT_FALSE(map.is_sane(INT64_MIN));
}

TEST(ClockMap, SurvivesFewOrFarTriples) {
  ClockMap one({{100, 500, 200}}, ClockKind::tsc, 0, false);
  EXPECT_FALSE(one.doubt().empty());
  EXPECT_EQ(one.monotonic_ns(150), 250);
  EXPECT_GT(one.monotonic_ns(~u64(0)), one.monotonic_ns(0));
  ClockMap none({}, ClockKind::tsc, 777, false);
  EXPECT_FALSE(none.doubt().empty());
  ClockMap steady({{100, 500, 200}}, ClockKind::monotonic_ns, 0, false);
  EXPECT_TRUE(steady.doubt().empty());
  EXPECT_EQ(steady.monotonic_ns(90), 190);
}

TEST(Spans, CutsAtStepEdgesAndAtTheCount) {
  TempDir dir;
  RecordingBuilder b;
  add_training(b, 10, 0, 10);
  b.write(dir.path + "/r.tprof");
  auto r = Recording::open(dir.path + "/r.tprof");
  Meta meta = r->read_meta();
  SpanRequest whole = request_of(meta.windows[0], meta);
  auto cuts = cut_spans(*r, meta, whole, 3 * kTrainingEvents);
  ASSERT_EQ(cuts.size(), 4u);
  EXPECT_EQ(cuts[0].first_step, 0);
  EXPECT_EQ(cuts[0].end_step, 3);
  EXPECT_EQ(cuts[3].first_step, 9);
  cuts = cut_spans(*r, meta, whole, 4);  // smaller than a step
  u64 events = 0;
  for (const SpanCut& cut : cuts) {
    EXPECT_LE(cut.events, 4u);
    events += cut.events;
  }
  EXPECT_EQ(events, 10 * kTrainingEvents);
}

}  // namespace
}  // namespace tprof
