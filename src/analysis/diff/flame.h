// Flame graphs of two sides of a comparison, matched by path: per step, means over the runs of a side.
//
// Threads are merged, and so are lines of a function, because an edit moves them. Only what started in a step counts; a
// trace without steps counts as one. A run whose traces lack a source does not count for that source.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/tables/flame.h"

namespace tprof {

// Contexts of a side; nodes[0] is all of them.
struct FlameMeans {
  std::vector<FlameNode> nodes;
  std::array<bool, kFlameCosts> known{};
};

class FlameSide {
 public:
  // A trace of a run. `steps`: how many it has.
  void add(const std::string& run, const std::vector<FlameTree>& trees, size_t steps);
  std::map<FlameSource, FlameMeans> means() const;

 private:
  struct OfRun {
    FlameMeans sums;
    double steps = 0;
  };
  std::map<FlameSource, std::map<std::string, OfRun>> runs_;
};

struct FlameDiffNode {
  std::string name;  // A's, if it is there
  FlameKind kind = FlameKind::thread;
  i32 parent = -1;
  bool in_a = false, in_b = false;
  FlameCosts a_self{}, a_total{}, b_self{}, b_total{};
};

struct FlameDiff {
  FlameSource source;
  std::vector<FlameDiffNode> nodes;       // [0] is all; parents before their children
  std::array<bool, kFlameCosts> known{};  // on both sides
};

// Of the sources that both sides have.
std::vector<FlameDiff> flame_diffs(const FlameSide& a, const FlameSide& b);

}  // namespace tprof
