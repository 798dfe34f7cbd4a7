#include "analysis/diff/flame.h"

#include <tuple>

namespace tprof {
namespace {

using Path = std::tuple<i32, FlameKind, std::string>;  // parent, and what it is there

// Adds a tree's contexts, matched by path, to others. place(parent, node): the number of the context.
template <class Place, class Add>
void walk(const std::vector<FlameNode>& nodes, Place place, Add add) {
  std::vector<i32> of(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) {
    const FlameNode& node = nodes[i];
    of[i] = node.parent < 0 ? 0 : place(of[size_t(node.parent)], node);
    add(of[i], node);
  }
}

void add_costs(FlameCosts& to, const FlameCosts& from, double weight) {
  for (u32 cost = 0; cost < kFlameCosts; cost++) to[cost] += from[cost] * weight;
}

void merge(FlameMeans& into, const std::vector<FlameNode>& from, double weight) {
  if (into.nodes.empty()) into.nodes.push_back({"all", FlameKind::thread, -1, kNone, {}, {}});
  std::map<Path, i32> places;
  for (size_t i = 1; i < into.nodes.size(); i++)
    places[{into.nodes[i].parent, into.nodes[i].kind, flame_function(into.nodes[i])}] = i32(i);
  walk(
      from,
      [&](i32 parent, const FlameNode& node) {
        auto [it, added] = places.try_emplace({parent, node.kind, flame_function(node)}, i32(into.nodes.size()));
        if (added) into.nodes.push_back({node.name, node.kind, parent, kNone, {}, {}});
        return it->second;
      },
      [&](i32 at, const FlameNode& node) {
        add_costs(into.nodes[size_t(at)].self, node.self, weight);
        add_costs(into.nodes[size_t(at)].total, node.total, weight);
      });
}

}  // namespace

void FlameSide::add(const std::string& run, const std::vector<FlameTree>& trees, size_t steps) {
  for (const FlameTree& tree : trees) {
    OfRun& of = runs_[tree.source][run];
    of.steps += double(steps);
    for (u32 cost = 0; cost < kFlameCosts; cost++) of.sums.known[cost] |= tree.known[cost];
    merge(of.sums, tree.nodes, 1);
  }
}

std::map<FlameSource, FlameMeans> FlameSide::means() const {
  std::map<FlameSource, FlameMeans> out;
  for (const auto& [source, runs] : runs_) {
    FlameMeans& means = out[source];
    means.known.fill(true);
    for (const auto& [name, run] : runs) {
      for (u32 cost = 0; cost < kFlameCosts; cost++) means.known[cost] &= run.sums.known[cost];
      merge(means, run.sums.nodes, 1 / run.steps / double(runs.size()));
    }
  }
  return out;
}

std::vector<FlameDiff> flame_diffs(const FlameSide& side_a, const FlameSide& side_b) {
  std::vector<FlameDiff> out;
  std::map<FlameSource, FlameMeans> a = side_a.means(), b = side_b.means();
  for (const auto& [source, of_a] : a) {
    auto of_b = b.find(source);
    if (of_b == b.end()) continue;
    FlameDiff& diff = out.emplace_back(FlameDiff{source, {}, {}});
    for (u32 cost = 0; cost < kFlameCosts; cost++) diff.known[cost] = of_a.known[cost] && of_b->second.known[cost];
    diff.nodes.push_back({"all", FlameKind::thread});
    std::map<Path, i32> places;
    auto place = [&](i32 parent, const FlameNode& node) {
      auto [it, added] = places.try_emplace({parent, node.kind, flame_function(node)}, i32(diff.nodes.size()));
      if (added) diff.nodes.push_back({node.name, node.kind, parent});
      return it->second;
    };
    walk(of_a.nodes, place, [&](i32 at, const FlameNode& node) {
      FlameDiffNode& to = diff.nodes[size_t(at)];
      to.in_a = true, to.a_self = node.self, to.a_total = node.total;
    });
    walk(of_b->second.nodes, place, [&](i32 at, const FlameNode& node) {
      FlameDiffNode& to = diff.nodes[size_t(at)];
      to.in_b = true, to.b_self = node.self, to.b_total = node.total;
    });
  }
  return out;
}

}  // namespace tprof
