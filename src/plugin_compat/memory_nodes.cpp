#include "plugin_compat/memory_nodes.h"

#include <cmath>
#include <map>

#include "model/plugin_trace.h"

namespace tprof {
namespace {

// Walks through the tree of one thread along its allocations and releases, in order of time.
class NodeSearch {
 public:
  NodeSearch(PluginTree& tree, const std::vector<std::vector<u32>>& inside, u32 root)
      : tree_(tree), inside_(inside), at_(root) {}

  // The innermost node around a moment, kNone: none.
  u32 find(i64 ns) {
    while (at_ != kNone && ns >= node(at_).end_ns) leave();
    if (at_ == kNone || ns < node(at_).begin_ns) return kNone;
    while (next_ < inside_[at_].size()) {
      u32 child = inside_[at_][next_];
      if (ns < node(child).begin_ns) break;
      if (ns >= node(child).end_ns)
        next_++;
      else
        enter(child);
    }
    return at_;
  }

 private:
  const OpNode& node(u32 at) const { return tree_.nodes[at]; }

  void enter(u32 child) {
    tree_.visited[size_t(tree_.twin[child])] = true;
    open_.push_back({at_, next_});
    at_ = child;
    next_ = 0;
  }
  void leave() {
    if (open_.empty()) {
      at_ = kNone;
      return;
    }
    std::tie(at_, next_) = open_.back();
    open_.pop_back();
    next_++;
  }

  PluginTree& tree_;
  const std::vector<std::vector<u32>>& inside_;
  std::vector<std::pair<u32, size_t>> open_;  // the nodes around the current one, each with the index of its open child
  u32 at_;
  size_t next_ = 0;
};

}  // namespace

std::vector<std::vector<u32>> children_of(const OpTree& tree) {
  std::vector<std::vector<u32>> inside(tree.nodes.size());
  for (size_t i = 0; i < tree.nodes.size(); i++)
    if (tree.nodes[i].parent >= 0) inside[size_t(tree.nodes[i].parent)].push_back(u32(i));
  return inside;
}

void find_memory_nodes(PluginTree& tree, const Model& model, const PluginTrace& trace, const std::vector<i64>& tids) {
  tree.of_memory.assign(model.memory.size(), -1);
  tree.visited.assign(tree.nodes.size(), false);
  for (size_t i = tree.twin.size(); i < tree.nodes.size(); i++) tree.twin.push_back(i32(i));
  std::vector<std::vector<u32>> inside = children_of(tree);
  std::map<i64, NodeSearch> threads;
  for (size_t i = 0; i < tree.nodes.size(); i++)
    if (tree.nodes[i].parent < 0) threads.try_emplace(tids[tree.nodes[i].thread], tree, inside, u32(i));
  for (const PluginEvent& event : trace.events) {
    if (event.type != PluginType::memory || event.item >= tree.of_memory.size() || event.tid_is_text) continue;
    auto thread = threads.find(event.tid);
    if (thread == threads.end()) continue;
    u32 node = thread->second.find(std::llround((event.ts_us - trace.events.front().ts_us) * 1000));
    if (node != kNone && tree.nodes[node].listed) tree.of_memory[event.item] = tree.twin[node];
  }
}

}  // namespace tprof
