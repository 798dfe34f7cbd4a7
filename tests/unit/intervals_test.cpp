#include "analysis/basis/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tprof {
namespace {

std::set<i64> moments(const IntervalSet& set) {
  std::set<i64> out;
  for (const Interval& x : set.intervals())
    for (i64 t = x.begin; t < x.end; t++) out.insert(t);
  return out;
}

IntervalSet random_set(std::mt19937& random) {
  std::vector<Interval> any;
  for (u32 n = random() % 12; n > 0; n--) {
    i64 begin = i64(random() % 60) - 20;
    any.push_back({begin, begin + i64(random() % 12) - 2});
  }
  return IntervalSet(any);
}

TEST(Intervals, AreSortedAndDisjointAndDoNotTouch) {
  IntervalSet set({{5, 9}, {1, 3}, {3, 4}, {8, 12}, {7, 7}, {20, 15}});
  EXPECT_EQ(set.intervals(), (std::vector<Interval>{{1, 4}, {5, 12}}));
  EXPECT_EQ(set.length(), 10);
  EXPECT_EQ(set.length_in(3, 6), 2);
  EXPECT_EQ(set.length_in(12, 99), 0);
}

TEST(Intervals, OperationsAreThoseOfSetsOfMoments) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; i++) {
    IntervalSet a = random_set(random), b = random_set(random);
    std::set<i64> in_a = moments(a), in_b = moments(b), either = in_a, both, only;
    either.insert(in_b.begin(), in_b.end());
    for (i64 t : in_a) (in_b.count(t) ? both : only).insert(t);
    ASSERT_EQ(moments(a | b), either);
    ASSERT_EQ(moments(a & b), both);
    ASSERT_EQ(moments(a - b), only);
    ASSERT_EQ((a | b).length(), i64(either.size()));
    ASSERT_EQ(a | b, IntervalSet((a | b).intervals()));
    i64 from = i64(random() % 50) - 20, to = from + i64(random() % 20);
    ASSERT_EQ(a.length_in(from, to), (a & IntervalSet(from, to)).length());
  }
}

}  // namespace
}  // namespace tprof
