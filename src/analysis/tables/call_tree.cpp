#include "analysis/tables/call_tree.h"

#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/basis/backward.h"
#include "analysis/tables/operators.h"

namespace tprof {
namespace {

class CallTreeBuilder {
 public:
  CallTreeBuilder(const Model& model, const OpTree& tree, const Windows* steps)
      : model_(model), tree_(tree), steps_(steps) {}

  CallTree run() {
    of_node_.assign(tree_.nodes.size(), -1);
    for (size_t i = 0; i < tree_.nodes.size(); i++) add(i);
    charge_backward();
    out_.unattributed_ns = double(tree_.unattributed_ns);
    for (const GpuEvent& work : model_.gpu) out_.has_device |= work.runs_on_gpu();
    sum_up();
    return std::move(out_);
  }

 private:
  void add(size_t index) {
    const OpNode& node = tree_.nodes[index];
    i32 parent = node.parent < 0 ? -1 : of_node_[size_t(node.parent)];
    if (steps_) {
      of_node_[index] = parent;
      if (node.kind == NodeKind::step || steps_->step_at(node.begin_ns) < 0) return;
    } else if (parent < 0) {
      parent = root_of(node.thread);
    }
    i32 at = place(parent, node);
    of_node_[index] = at;
    CallNode& call = out_.nodes[size_t(at)];
    call.costs.calls++;
    call.costs.host_self_ns += double(node.host_self_ns);
    call.costs.host_total_ns += double(node.host_total_ns());
    call.costs.device_self_ns += double(node.device_self_ns);
    u32 stack = node.event == kNone ? 0 : model_.events[node.event].stack;
    if (call.costs.calls == 1) call.stack = stack;
    if (call.stack != stack) call.stack = 0;
  }

  // Equal paths of nodes of one kind are one.
  i32 place(i32 parent, const OpNode& node) {
    const std::string& name = row_name_of(model_, node, RuleSet::tprof);
    u32 number =
        node.kind == NodeKind::step ? step_names_.try_emplace(name, u32(step_names_.size())).first->second : node.name;
    auto [it, added] = places_.try_emplace({parent, number, node.kind}, i32(out_.nodes.size()));
    if (added) out_.nodes.push_back({name, node.kind, parent, steps_ ? kNone : owner_of(node.thread), 0, {}});
    return it->second;
  }

  u32 owner_of(u32 thread) {
    auto [it, added] = owners_.try_emplace(model_.threads[thread].owner, thread);
    if (added)
      for (u32 i = 0; i < model_.threads.size(); i++)
        if (model_.threads[i].tid == it->first) it->second = i;
    return it->second;
  }

  i32 root_of(u32 thread) {
    auto [it, added] = roots_.try_emplace(owner_of(thread), i32(out_.nodes.size()));
    if (added) out_.nodes.push_back({"", NodeKind::root, -1, it->first, 0, {}});
    return it->second;
  }

  void charge_backward() {
    std::vector<i32> node_of(model_.events.size(), -1);
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (tree_.nodes[i].event != kNone) node_of[tree_.nodes[i].event] = i32(i);
    auto node_at = [&](u32 event) {  // its own, or that of the range it is one with
      i32 at = i32(event);
      while (at >= 0 && node_of[size_t(at)] < 0) at = model_.events[size_t(at)].parent;
      return at < 0 ? -1 : node_of[size_t(at)];
    };
    out_.has_backward = !model_.pairs.empty();
    std::vector<bool> charged(tree_.nodes.size());
    for (const ForwardBackward& pair : backward_passes(model_, [](u32) { return true; })) {
      i32 from = node_at(pair.backward), to = node_at(pair.forward);
      if (from < 0) continue;
      charged[size_t(from)] = true;
      i32 place = to < 0 ? -1 : of_node_[size_t(to)];
      const OpNode& work = tree_.nodes[size_t(from)];
      if (place < 0 || (steps_ && steps_->step_at(work.begin_ns) < 0)) continue;
      out_.nodes[size_t(place)].costs.backward_host_ns += double(work.host_total_ns());
      out_.nodes[size_t(place)].costs.backward_device_ns += double(work.device_total_ns);
    }
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (of_node_[i] >= 0 && !charged[i] && is_engine(tree_.nodes[i]) && !inside_engine(tree_.nodes[i]))
        out_.uncharged_ns += double(tree_.nodes[i].host_total_ns());
  }

  bool is_engine(const OpNode& node) const {
    return node.kind == NodeKind::op && model_.names[node.name].starts_with(kEvaluatePrefix);
  }
  bool inside_engine(const OpNode& node) const {
    for (i32 up = node.parent; up >= 0; up = tree_.nodes[size_t(up)].parent)
      if (is_engine(tree_.nodes[size_t(up)])) return true;
    return false;
  }

  // What children add to those around them. A thread's root has no time of its own.
  void sum_up() {
    for (CallNode& node : out_.nodes) node.costs.device_total_ns = node.costs.device_self_ns;
    for (size_t i = out_.nodes.size(); i-- > 0;) {
      const CallNode& node = out_.nodes[i];
      if (node.parent < 0) continue;
      CallNode& parent = out_.nodes[size_t(node.parent)];
      parent.costs.device_total_ns += node.costs.device_total_ns;
      parent.costs.backward_host_ns += node.costs.backward_host_ns;
      parent.costs.backward_device_ns += node.costs.backward_device_ns;
      if (parent.kind == NodeKind::root) parent.costs.host_total_ns += node.costs.host_total_ns;
    }
  }

  struct Path {
    i32 parent;
    u32 name;
    NodeKind kind;
    bool operator==(const Path&) const = default;
  };
  struct PathHash {
    size_t operator()(const Path& p) const {
      return std::hash<u64>()((u64(u32(p.parent)) << 32 | p.name) * 31 + u64(p.kind));
    }
  };

  const Model& model_;
  const OpTree& tree_;
  const Windows* steps_;
  CallTree out_;
  std::vector<i32> of_node_;  // by OpTree::nodes: its place, or that of the node around it
  std::unordered_map<Path, i32, PathHash> places_;
  std::map<std::string, u32> step_names_;
  std::map<u32, u32> owners_;  // by thread id: index into Model::threads
  std::map<u32, i32> roots_;   // by owner
};

}  // namespace

void CallCosts::add(const CallCosts& other, Weights weights) {
  double weight = weights.times;
  calls += other.calls * weights.calls;
  host_self_ns += other.host_self_ns * weight, host_total_ns += other.host_total_ns * weight;
  device_self_ns += other.device_self_ns * weight, device_total_ns += other.device_total_ns * weight;
  backward_host_ns += other.backward_host_ns * weight, backward_device_ns += other.backward_device_ns * weight;
}

CallTree call_tree(const Model& model, const OpTree& tree) { return CallTreeBuilder(model, tree, nullptr).run(); }

CallTree step_call_tree(const Model& model, const OpTree& tree, const Windows& windows) {
  return CallTreeBuilder(model, tree, &windows).run();
}

void merge(CallTree& into, const CallTree& from, CallCosts::Weights weights) {
  std::map<std::tuple<i32, NodeKind, std::string>, i32> places;
  for (size_t i = 0; i < into.nodes.size(); i++)
    places[{into.nodes[i].parent, into.nodes[i].kind, into.nodes[i].name}] = i32(i);
  std::vector<i32> of(from.nodes.size());
  for (size_t i = 0; i < from.nodes.size(); i++) {
    const CallNode& node = from.nodes[i];
    i32 parent = node.parent < 0 ? -1 : of[size_t(node.parent)];
    auto [it, added] = places.try_emplace({parent, node.kind, node.name}, i32(into.nodes.size()));
    if (added) into.nodes.push_back({node.name, node.kind, parent, node.thread, node.stack, {}});
    of[i] = it->second;
    into.nodes[size_t(of[i])].costs.add(node.costs, weights);
  }
  into.has_device |= from.has_device, into.has_backward |= from.has_backward;
  into.unattributed_ns += from.unattributed_ns * weights.times;
  into.uncharged_ns += from.uncharged_ns * weights.times;
}

}  // namespace tprof
