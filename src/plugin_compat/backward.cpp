#include "plugin_compat/backward.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace tprof {
namespace {

constexpr std::string_view kEngine = "autograd::engine::evaluate_function:";
constexpr std::string_view kEngineAccumulates = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

class BackwardMover {
 public:
  BackwardMover(PluginTree& tree, const Model& model) : tree_(tree), model_(model), inside_(tree.nodes.size()) {
    for (size_t i = 0; i < tree.nodes.size(); i++)
      (tree.nodes[i].parent < 0 ? roots_ : inside_[size_t(tree.nodes[i].parent)]).push_back(u32(i));
  }

  void run(const PluginArrows& arrows) {
    u32 main = main_root();
    find_modules();
    if (modules_.empty() || engine_.empty()) return;
    for (const auto& [parent, ranges] : engine_)
      std::erase_if(inside_[parent], [&](u32 child) { return is_engine(child); });
    tie_to_forward(arrows);
    if (!of_forward_.empty())
      for (u32 module : modules_) build(module, kNone);
    insert(main);
    renumber();
  }

 private:
  OpNode& node(u32 at) { return tree_.nodes[at]; }
  std::string_view name(u32 at) const {
    return tree_.nodes[at].kind == NodeKind::root ? std::string_view() : model_.names[tree_.nodes[at].name];
  }
  bool is_engine(u32 at) const { return name(at).starts_with(kEngine); }

  // By start; of nodes that start together the longest first.
  bool before(u32 a, u32 b) {
    return node(a).begin_ns != node(b).begin_ns ? node(a).begin_ns < node(b).begin_ns : node(a).end_ns > node(b).end_ns;
  }
  void sort(std::vector<u32>& list) {
    std::stable_sort(list.begin(), list.end(), [&](u32 a, u32 b) { return before(a, b); });
  }

  void span_of_children(u32 at) {
    if (inside_[at].empty()) return;
    node(at).begin_ns = node(inside_[at].front()).begin_ns;
    node(at).end_ns = node(inside_[at].back()).end_ns;
  }

  // The root of the last thread with steps; else the longest root, except the engine's.
  u32 main_root() {
    u32 found = kNone;
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (name(u32(i)).starts_with(kStepPrefix)) {
        i32 up = i32(i);
        while (node(u32(up)).parent >= 0) up = node(u32(up)).parent;
        if (found == kNone || u32(up) > found) found = u32(up);
      }
    if (found != kNone) return found;
    u32 engine = kNone;
    for (u32 root : roots_)
      if (engine == kNone &&
          std::any_of(inside_[root].begin(), inside_[root].end(), [&](u32 c) { return is_engine(c); }))
        engine = root;
    for (u32 root : roots_)
      if ((root != engine || roots_.size() == 1) &&
          (found == kNone || node(root).host_total_ns() > node(found).host_total_ns()))
        found = root;
    return found;
  }

  // Finds modules and ranges of the engine that are children of a thread or a step.
  void find_modules() {
    auto look = [&](auto& self, u32 parent) -> void {
      for (u32 child : inside_[parent]) {
        if (node(child).kind == NodeKind::module) {
          modules_.push_back(child);
        } else if (node(child).kind == NodeKind::step) {
          self(self, child);
        } else if (is_engine(child)) {
          auto known = std::find_if(engine_.begin(), engine_.end(), [&](auto& e) { return e.first == parent; });
          if (known == engine_.end()) known = engine_.insert(known, {parent, {}});
          known->second.push_back(child);
        }
      }
    };
    for (u32 root : roots_) look(look, root);
  }

  void tie_to_forward(const PluginArrows& arrows) {
    std::unordered_map<i64, u32> outer;  // by start time: the range around the node that starts then
    auto walk = [&](auto& self, u32 at) -> void {
      for (u32 child : inside_[at]) {
        outer.try_emplace(node(child).begin_ns, at);
        self(self, child);
      }
    };
    std::map<u32, std::vector<u32>> groups;  // by the first range
    u32 last = kNone;
    for (const auto& [parent, ranges] : engine_)
      for (u32 range : ranges) {
        walk(walk, range);
        if (name(range) != kEngineAccumulates || last == kNone) last = range;
        groups[last].push_back(range);
      }
    std::vector<i64> order;
    std::unordered_map<i64, i64> backward_of;  // the last arrow of a moment counts
    for (auto [forward, backward] : arrows)
      if (auto [it, added] = backward_of.insert_or_assign(forward, backward); added) order.push_back(forward);
    for (i64 forward : order) {
      auto up = outer.find(backward_of[forward]);
      while (up != outer.end() && !is_engine(up->second)) up = outer.find(node(up->second).begin_ns);
      if (up == outer.end()) continue;
      auto group = groups.find(up->second);
      if (group == groups.end()) continue;
      of_forward_[forward] = std::move(group->second);
      groups.erase(group);
    }
  }

  // Builds the backward node of a module, with those of the modules inside it.
  void build(u32 at, u32 parent) {
    bool is_module = node(at).kind == NodeKind::module;
    if (is_module) {
      OpNode backward;
      backward.begin_ns = node(at).begin_ns, backward.end_ns = node(at).end_ns;
      backward.name = node(at).name;
      backward.thread = node(at).thread;
      backward.kind = NodeKind::backward;
      backward.listed = false;
      auto made = u32(tree_.nodes.size());
      tree_.nodes.push_back(backward);
      inside_.emplace_back();
      if (parent == kNone)
        backward_.push_back(made);
      else
        inside_[parent].push_back(made);
      parent = made;
    }
    for (size_t i = 0; i < inside_[at].size(); i++) {
      u32 child = inside_[at][i];
      if (parent != kNone && node(child).listed)
        if (auto ranges = of_forward_.find(node(child).begin_ns); ranges != of_forward_.end())
          inside_[parent].insert(inside_[parent].end(), ranges->second.begin(), ranges->second.end());
      build(child, parent);
    }
    if (is_module && !inside_[parent].empty()) fill(parent);
  }

  void fill(u32 at) {
    sort(inside_[at]);
    span_of_children(at);
    OpNode& to = node(at);
    to.host_self_ns = to.host_total_ns();
    for (u32 child : inside_[at]) {
      to.host_self_ns -= node(child).host_total_ns();
      to.device_total_ns += node(child).device_total_ns;
      to.tensor_total_ns += node(child).tensor_total_ns;
      to.eligible |= node(child).eligible;
    }
    to.thread = node(inside_[at].front()).thread;
  }

  // Inserts the backward nodes into the tree of the main thread, by start time.
  void insert(u32 main) {
    sort(backward_);
    std::vector<std::pair<u32, size_t>> open;
    u32 current = main;
    size_t child = 0;
    for (size_t i = 0; i < backward_.size() && current != kNone;) {
      u32 module = backward_[i];
      if (node(module).end_ns < node(current).begin_ns) {
        i++;
      } else if (node(module).begin_ns > node(current).end_ns) {
        if (open.empty()) {
          current = kNone;
        } else {
          std::tie(current, child) = open.back();
          open.pop_back();
          child++;
        }
      } else {
        while (child < inside_[current].size()) {
          u32 next = inside_[current][child];
          if (node(module).end_ns < node(next).begin_ns) break;
          if (node(module).begin_ns >= node(next).end_ns) {
            child++;
          } else {
            open.push_back({current, child});
            current = next;
            child = 0;
          }
        }
        inside_[current].insert(inside_[current].begin() + i64(child), module);
        child++;
        i++;
      }
    }
  }

  // Thread by thread, parents before their children. A range in two places becomes two nodes: the plugin counts it
  // twice.
  void renumber() {
    std::vector<OpNode> nodes;
    std::vector<OpTree::Launch> launches;
    std::vector<i32> new_number(tree_.nodes.size(), -1);
    std::unordered_map<i32, std::vector<OpTree::Launch>> launches_of;  // by node
    for (const OpTree::Launch& launch : tree_.launches) launches_of[launch.node].push_back(launch);
    auto put = [&](auto& self, u32 at, i32 parent) -> void {
      auto number = i32(nodes.size());
      if (new_number[at] < 0) new_number[at] = number;
      tree_.twin.push_back(new_number[at]);
      nodes.push_back(tree_.nodes[at]);
      nodes.back().parent = parent;
      if (auto own = launches_of.find(i32(at)); own != launches_of.end())
        for (const OpTree::Launch& launch : own->second) launches.push_back({launch.gpu, number, launch.ns});
      for (u32 child : inside_[at]) self(self, child, number);
    };
    for (u32 root : roots_)
      if (!inside_[root].empty()) put(put, root, -1);
    tree_.launches = std::move(launches);
    for (i32& at : tree_.of_gpu)  // a dropped root is replaced by the first one: all roots have the same name
      if (at >= 0) at = new_number[size_t(at)] < 0 && node(u32(at)).kind == NodeKind::root ? 0 : new_number[size_t(at)];
    tree_.nodes = std::move(nodes);
  }

  PluginTree& tree_;
  const Model& model_;
  std::vector<std::vector<u32>> inside_;  // by node
  std::vector<u32> roots_, modules_, backward_;
  std::vector<std::pair<u32, std::vector<u32>>> engine_;  // the engine's ranges, by their parent
  std::unordered_map<i64, std::vector<u32>> of_forward_;  // the engine's ranges, by the start of the forward operator
};

}  // namespace

void move_backward(PluginTree& tree, const Model& model, const PluginArrows& arrows) {
  if (!arrows.empty()) BackwardMover(tree, model).run(arrows);
}

}  // namespace tprof
