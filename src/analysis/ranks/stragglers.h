// Which ranks keep the others waiting, if the traces have evidence enough to say so.
//
// The method is that of StageFrontier (arXiv 2606.06751): no clocks are compared, but how long each rank takes for its
// own work. A step (without steps: a stretch between two collectives of all ranks) less what the rank waited in it for
// others is its own time; who has the longest drives the job there. It is a straggler if that happens more often than
// by chance, and by more than kStragglerShare of a step:
//
//   were the ranks alike, each would be the slowest of n in k of N steps with binomial probability, 1/n each. That
//   chance, times the number of ranks that are asked, is below kStragglerChance. From four ranks on the two slowest are
//   asked for as well (2/n), since two ranks may share a slow machine.
//
// So two ranks need six steps, four need four, eight need three; where even the slowest rank of every step would not be
// enough, the answer is that nobody knows. A robust z over the ranks (x - median by MAD, above 3.5) will not do:
// of two ranks it says nothing, and of eight that are alike it names one in 16 to 57 % of jobs, by their steps' noise.
#pragma once
#include "analysis/ranks/distributed.h"

namespace tprof {

constexpr double kStragglerShare = 0.01;
constexpr double kStragglerChance = 0.05;
constexpr size_t kMostParts = 20;  // of traces without steps

// What is known of a rank's time in collectives; moments as those of its calls.
struct RankTimes {
  IntervalSet waits;             // for others, or where nobody knows for what
  std::vector<i64> common_ends;  // of the collectives in which all ranks take part, in the same order on all
};

// Fills what Distributed says of stragglers; `times` by rank.
void find_stragglers(Distributed& out, const std::vector<Rank>& ranks, const std::vector<RankTimes>& times);

}  // namespace tprof
