#include "analysis/diff/tree.h"

#include <algorithm>
#include <map>

namespace tprof {
namespace {

constexpr char kStepName[] = "Step";

using Children = std::vector<std::vector<size_t>>;  // by node, the last list: of the top

Children children_of(const CallTree& tree) {
  Children out(tree.nodes.size() + 1);
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    i32 parent = tree.nodes[i].parent;
    out[parent < 0 ? tree.nodes.size() : size_t(parent)].push_back(i);
  }
  return out;
}

class Matcher {
 public:
  Matcher(const CallTree& a, const CallTree& b) : a_(a), b_(b), in_a_(children_of(a)), in_b_(children_of(b)) {}

  DiffTree run() {
    DiffNode root{kStepName, "", NodeKind::step};
    root.a = sum_of(a_, in_a_.back()), root.b = sum_of(b_, in_b_.back());
    root.a_total_ns = root.a.total_ns(), root.b_total_ns = root.b.total_ns();
    out_.nodes.push_back(std::move(root));
    out_.a_has_device = a_.has_device, out_.b_has_device = b_.has_device;
    match(&in_a_.back(), &in_b_.back(), 0);
    add_totals(a_, true);
    add_totals(b_, false);
    accumulate_bars(out_);
    return std::move(out_);
  }

 private:
  static CallCosts sum_of(const CallTree& tree, const std::vector<size_t>& nodes) {
    CallCosts out;
    for (size_t i : nodes) out.add(tree.nodes[i].costs, {1, 0});
    out.host_self_ns = out.device_self_ns = 0;
    out.calls = 1;
    return out;
  }

  struct Pair {
    i64 a, b;  // -1 none
  };

  void match(const std::vector<size_t>* of_a, const std::vector<size_t>* of_b, i32 parent) {
    std::map<std::pair<NodeKind, std::string>, size_t> known;
    std::vector<Pair> pairs;
    if (of_a)
      for (size_t i : *of_a) {
        known[{a_.nodes[i].kind, a_.nodes[i].name}] = i;
        pairs.push_back({i64(i), -1});
      }
    auto place = pairs.begin();
    if (of_b)
      for (size_t i : *of_b) {
        auto twin = known.find({b_.nodes[i].kind, b_.nodes[i].name});
        if (twin == known.end()) {
          place = pairs.insert(place, {-1, i64(i)}) + 1;
          continue;
        }
        place = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) { return p.a == i64(twin->second); });
        place->b = i64(i);
        place++;
      }
    for (const Pair& pair : pairs) add(pair, parent);
  }

  void add(const Pair& pair, i32 parent) {
    const CallNode& any = pair.a >= 0 ? a_.nodes[size_t(pair.a)] : b_.nodes[size_t(pair.b)];
    DiffNode node{any.name, "", any.kind, parent, pair.a >= 0, pair.b >= 0};
    if (node.in_a) node.a = a_.nodes[size_t(pair.a)].costs;
    if (node.in_b) node.b = b_.nodes[size_t(pair.b)].costs;
    node.a_total_ns = node.a.total_ns(), node.b_total_ns = node.b.total_ns();
    node.bar = any.name;
    auto at = i32(out_.nodes.size());
    out_.nodes.push_back(std::move(node));
    match(pair.a >= 0 ? &in_a_[size_t(pair.a)] : nullptr, pair.b >= 0 ? &in_b_[size_t(pair.b)] : nullptr, at);
  }

  void add_totals(const CallTree& tree, bool is_a) {
    for (const CallNode& node : tree.nodes) {
      if (node.kind != NodeKind::op && node.kind != NodeKind::label) continue;
      auto [it, added] = totals_.try_emplace(node.name, out_.totals.size());
      if (added) out_.totals.push_back({0, node.name});
      DiffTotal& total = out_.totals[it->second];
      (is_a ? total.in_a : total.in_b) = true;
      CallCosts costs = node.costs;
      bool inside_itself = false;
      for (i32 up = node.parent; up >= 0 && !inside_itself; up = tree.nodes[size_t(up)].parent)
        inside_itself = tree.nodes[size_t(up)].name == node.name;
      if (inside_itself) costs.host_total_ns = costs.device_total_ns = 0;
      (is_a ? total.a : total.b).add(costs, {1, 1});
    }
  }

  const CallTree &a_, &b_;
  Children in_a_, in_b_;
  DiffTree out_;
  std::map<std::string, size_t> totals_;
};

}  // namespace

void accumulate_bars(DiffTree& tree) {
  std::vector<std::pair<double, double>> sums(tree.nodes.size());  // by parent
  for (DiffNode& node : tree.nodes) {
    if (node.bar.empty() || node.parent < 0) continue;
    auto& [a, b] = sums[size_t(node.parent)];
    node.a_accumulated_ns = a += node.a_total_ns;
    node.b_accumulated_ns = b += node.b_total_ns;
  }
}

DiffTree diff_tree(const CallTree& a, const CallTree& b) { return Matcher(a, b).run(); }

}  // namespace tprof
