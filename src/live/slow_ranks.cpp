#include "live/slow_ranks.h"

#include <map>
#include <set>

namespace tprof::live {
namespace {

void mark_slow_rank(const std::vector<ProgramView*>& ranks) {
  constexpr double kLonger = 1.1, kLeastOfStep = 0.05;
  std::set<i32> numbers;
  const ProgramView* ahead = ranks[0];
  for (const ProgramView* rank : ranks) {
    if (!numbers.insert(rank->rank).second) return;
    if (rank->recent.last > ahead->recent.last) ahead = rank;
  }
  ProgramView *first = nullptr, *second = nullptr;
  for (ProgramView* rank : ranks) {
    if (rank->recent.last < ahead->recent.first) continue;
    if (!first || rank->own_ns > first->own_ns) {
      second = first;
      first = rank;
    } else if (!second || rank->own_ns > second->own_ns) {
      second = rank;
    }
  }
  if (!second) return;
  double gap = first->own_ns - second->own_ns;
  first->slow = first->own_ns > kLonger * second->own_ns && gap > kLeastOfStep * first->recent.ns;
  if (first->slow) first->next_own_ns = second->own_ns;
}

}  // namespace

void mark_slow_ranks(std::vector<ProgramView>& programs) {
  std::map<i32, std::vector<ProgramView*>> jobs;  // by world size
  for (ProgramView& p : programs) {
    p.slow = false;
    p.next_own_ns = -1;
    if (!p.ended && p.rank >= 0 && p.own_ns >= 0) jobs[p.world_size].push_back(&p);
  }
  for (const auto& [world_size, ranks] : jobs) mark_slow_rank(ranks);
}

}  // namespace tprof::live
