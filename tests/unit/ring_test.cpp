// What flight mode keeps: Ring.
#include "collect/session/ring.h"

#include <gtest/gtest.h>

using namespace tprof;

namespace {

constexpr u64 kSecond = 1'000'000'000;
constexpr u32 kChunks = 64;  // of a ring of 32 MiB
constexpr u64 kMaxSize = u64(4) << 30;

struct SizedRing : Ring {
  SizedRing() { set({true, kChunks * u64(kChunkBytes), 0}, kMaxSize); }
};

// A ring of spans of epochs 1, 3, 5 ... that begin at ticks 100, 200, 300 ... and seconds 1, 2, 3 ...
void fill(Ring& ring, u32 spans) {
  ring.start(1, 1, 0, 100, kSecond);
  for (u32 i = 1; i < spans; i++) {
    ring.roll(2 * i + 1, 0, (i + 1) * kSecond, 0);
    ring.span_begins(2 * i + 1, 100 * (i + 1));
  }
}

}  // namespace

TEST(Ring, is_off_without_flight_mode) {
  Ring ring;
  ring.set({}, kMaxSize);
  EXPECT_FALSE(ring.is_on());
  EXPECT_FALSE(ring.is_filled(1000));
}

TEST(Ring, a_span_is_a_sixteenth_of_the_budget) {
  SizedRing ring;
  fill(ring, 1);
  EXPECT_FALSE(ring.is_filled(kChunks / Ring::kParts - 1));
  EXPECT_TRUE(ring.is_filled(kChunks / Ring::kParts));
  ring.roll(3, 0, 2 * kSecond, 100);
  EXPECT_FALSE(ring.is_filled(100));
  EXPECT_FALSE(ring.span_is_over(100, 1000 * kSecond)) << "time counts only where the budget is a time";
  EXPECT_TRUE(ring.is_filled(100 + kChunks / Ring::kParts));
}

TEST(Ring, drops_the_oldest_span_when_there_are_too_many_chunks) {
  SizedRing ring;
  fill(ring, 4);
  EXPECT_FALSE(ring.is_over(kChunks, 99 * kSecond));
  EXPECT_TRUE(ring.is_over(kChunks + 1, 0));
  EXPECT_EQ(ring.drop(), 200u);
  EXPECT_EQ(ring.oldest_epoch(), 3u);
  EXPECT_EQ(ring.first_epoch(), 3u);
  EXPECT_EQ(ring.newest_epoch(), 7u);
}

TEST(Ring, keeps_a_whole_span_even_if_it_is_too_large) {
  SizedRing ring;
  fill(ring, 2);
  EXPECT_FALSE(ring.is_over(1000 * kChunks, 0));
}

TEST(Ring, keeps_seconds) {
  Ring ring;
  ring.set({true, 0, 8}, kMaxSize);
  fill(ring, 1);
  EXPECT_FALSE(ring.span_is_over(0, kSecond + kSecond / 4));
  EXPECT_TRUE(ring.span_is_over(0, kSecond + kSecond / 2));
  fill(ring, 3);
  EXPECT_FALSE(ring.is_over(0, 2 * kSecond + 8 * kSecond - 1)) << "the second span began less than 8 s ago";
  EXPECT_TRUE(ring.is_over(0, 2 * kSecond + 8 * kSecond));
  EXPECT_TRUE(ring.is_over(u32(kMaxSize / kFlightParts / kChunkBytes) + 1, 0))
      << "and never more than a part of the disk";
}

TEST(Ring, begins_with_a_step_where_one_begins_in_its_oldest_span) {
  SizedRing ring;
  fill(ring, 1);
  ring.roll(3, 0, 0, 0);
  ring.step_begins(210);  // all that begins now may still be in the span before
  ring.span_begins(3, 220);
  ring.step_begins(230);
  ring.step_begins(240);
  ring.roll(5, 0, 0, 0);
  ring.span_begins(5, 300);
  EXPECT_EQ(ring.drop(), 230u);
  EXPECT_EQ(ring.drop(), 300u);
}

TEST(Ring, a_span_whose_begin_is_not_known_yet_stays_behind_the_oldest) {
  SizedRing ring;
  fill(ring, 1);
  ring.roll(3, 0, 0, 0);
  ring.roll(5, 0, 0, 0);
  EXPECT_FALSE(ring.is_over(1000 * kChunks, 0));
  ring.span_begins(3, 200);
  EXPECT_TRUE(ring.is_over(1000 * kChunks, 0));
}

TEST(Ring, more_spans_than_fit_lose_an_edge_and_no_epoch) {
  SizedRing ring;
  fill(ring, 200);
  EXPECT_EQ(ring.first_epoch(), 1u);
  EXPECT_EQ(ring.newest_epoch(), 399u);
  EXPECT_GT(ring.drop(), 100u);
}

TEST(Ring, a_helper_keeps_what_its_leader_keeps) {
  SizedRing ring;
  ring.start(1, 1, 11, 100, 0);
  ring.roll(3, 15, 0, 0);
  ring.span_begins(3, 200);
  EXPECT_FALSE(ring.leader_dropped(13)) << "the first span holds what happened in epoch 13";
  EXPECT_TRUE(ring.leader_dropped(15));
}

TEST(Ring, windows_that_ended_are_kept_until_their_traces_are_written) {
  SizedRing ring;
  fill(ring, 3);  // epochs 1, 3, 5: the number of the window is 2
  ring.pin(2);
  ring.start(7, 5, 0, 400, 0);  // its first events may be in the last chunks of the window before
  EXPECT_EQ(ring.pinned(), 1u);
  EXPECT_EQ(ring.kept_epoch(0), 1u);
  EXPECT_EQ(ring.kept_epoch(5), 1u);
  ring.roll(9, 0, 0, 0);
  ring.span_begins(9, 500);
  ring.drop();
  EpochRange kept[Ring::kMaxKept];
  ASSERT_EQ(ring.kept_epochs(kept), 2u) << "what the ring has dropped since then is not kept for them";
  EXPECT_EQ(kept[0].first, 1u);
  EXPECT_EQ(kept[0].last, 5u);
  EXPECT_EQ(kept[1].first, 9u);
  EXPECT_EQ(ring.kept_epoch(6), 9u);
  EXPECT_EQ(ring.pinned(), 0u);
}
