// Which ranks keep the others waiting, if the traces have evidence enough to say so.
//
// The method is that of StageFrontier (arXiv 2606.06751): it compares not clocks but how long each rank takes for its
// own work. A rank's own time is that of a step (without steps: of a stretch between two collectives of all ranks)
// without its waiting for others; the rank with the longest determines the length of the step. It is a straggler if
// that happens more often than by chance, and by more than kStragglerShare of a step:
//
//   Among n equal ranks, the probability to be the slowest in k of N steps is binomial with 1/n. That probability,
//   times the number of ranks tested, must be below kStragglerChance. From four ranks on, the two slowest are also
//   tested together (2/n), because two ranks may share a slow machine.
//
// A rank whose own work is not longer may still keep others waiting, by its own collectives: it is not through with one
// when the others are, and comes to the next one late. That shows only between ranks with a common clock, by the same
// test. Data that it sends late make all ranks leave late, and cannot be told from a slow transfer of all.
//
// So two ranks need eight steps, four need five, eight need four. (With 0.05, two of twenty jobs of equal ranks name
// one with a probability of a quarter.) If even being the slowest in every step would not be enough, the result is
// `unknown`. A robust z over the ranks (x - median by MAD, above 3.5) does not work: with two ranks it never decides,
// and with eight equal ones the noise of the steps makes it name one in 16 to 57 % of jobs.
#pragma once
#include "analysis/ranks/distributed.h"

namespace tprof {

constexpr double kStragglerShare = 0.01;
constexpr double kStragglerChance = 0.01;
constexpr double kLateLeaveShare = 0.03;  // the same, for leaving collectives late
constexpr size_t kMaxParts = 20;          // for traces without steps

// What is known of a rank's time in collectives; on the clock of its calls.
struct RankTimes {
  IntervalSet waits;             // waiting for others, or not known for what
  std::vector<i64> common_ends;  // of the collectives in which all ranks take part, in the same order on all
  std::vector<std::pair<i64, i64>> late_leaves;  // when it left a collective, in order; how long after the first one
};

// Fills in the fields of Distributed about stragglers; `times` by rank.
void find_stragglers(Distributed& out, const std::vector<Rank>& ranks, const std::vector<RankTimes>& times);

}  // namespace tprof
