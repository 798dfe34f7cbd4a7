#include "analysis/tables/line_costs.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/basis/backward.h"

namespace tprof {
namespace {

// Frames as a tree, whatever they come from: a caller stands before what it calls.
class Sites {
 public:
  Sites(const Model& model, const OpTree& tree) {
    for (const Event& event : model.events) has_stacks_ |= event.stack != 0;
    if (has_stacks_) {
      frames_ = model.stacks;
      of_node_ = call_stacks(model, tree);
      return;
    }
    frames_.push_back({});
    of_node_.assign(tree.nodes.size(), 0);
    for (size_t i = 0; i < tree.nodes.size(); i++) {
      const OpNode& node = tree.nodes[i];
      u32 outer = node.parent < 0 ? 0 : of_node_[size_t(node.parent)];
      bool is_line = node.kind == NodeKind::python && is_source_line(model.names[node.name]);
      of_node_[i] = is_line ? frame(outer, node.name) : outer;
    }
  }

  bool has_stacks() const { return has_stacks_; }
  const std::vector<StackFrame>& frames() const { return frames_; }
  u32 of(size_t node) const { return of_node_[node]; }  // innermost frame, 0 none

 private:
  static bool is_source_line(const std::string& name) { return name.find("): ") != name.npos; }

  u32 frame(u32 parent, u32 text) {
    auto [it, added] = known_.try_emplace(u64(parent) << 32 | text, u32(frames_.size()));
    if (added) frames_.push_back({parent, text});
    return it->second;
  }

  bool has_stacks_ = false;
  std::vector<StackFrame> frames_;
  std::vector<u32> of_node_;
  std::unordered_map<u64, u32> known_;
};

bool is_work(const OpNode& node) {
  return node.kind == NodeKind::op || node.kind == NodeKind::label || node.kind == NodeKind::call;
}

bool is_outermost(const OpTree& tree, const OpNode& node) {
  if (node.kind != NodeKind::op) return false;
  for (i32 up = node.parent; up >= 0; up = tree.nodes[size_t(up)].parent)
    if (tree.nodes[size_t(up)].kind == NodeKind::op) return false;
  return true;
}

void add(LineCosts& to, const LineCosts& self) {
  to.calls += self.self_calls;
  to.host_total_ns += self.host_self_ns, to.device_total_ns += self.device_self_ns;
  to.backward_host_ns += self.backward_host_self_ns, to.backward_device_ns += self.backward_device_self_ns;
}

}  // namespace

CostsByLine line_costs(const Model& model, const OpTree& tree) {
  CostsByLine out;
  Sites sites(model, tree);
  out.of_calls = !sites.has_stacks();
  out.has_backward = !model.pairs.empty();
  for (const GpuEvent& work : model.gpu) out.has_device |= work.runs_on_gpu();

  std::vector<LineCosts> self(sites.frames().size());  // by frame
  std::vector<i32> node_of(model.events.size(), -1);
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    if (node.event != kNone) node_of[node.event] = i32(i);
    LineCosts& costs = self[sites.of(i)];
    costs.device_self_ns += node.device_self_ns;
    if (!is_work(node)) continue;
    costs.host_self_ns += node.host_self_ns;
    costs.self_calls += is_outermost(tree, node);
    out.host_ns += node.host_self_ns;
    if (!sites.of(i)) out.without_line_ns += node.host_self_ns;
  }
  auto node_at = [&](u32 event) {  // its own, or that of the range it is one with
    i32 at = i32(event);
    while (at >= 0 && node_of[size_t(at)] < 0) at = model.events[size_t(at)].parent;
    return at < 0 ? -1 : node_of[size_t(at)];
  };
  for (const ForwardBackward& pair : backward_passes(model, [](u32) { return true; })) {
    i32 forward = node_at(pair.forward), backward = node_at(pair.backward);
    if (forward < 0 || backward < 0) continue;
    LineCosts& costs = self[sites.of(size_t(forward))];
    costs.backward_host_self_ns += tree.nodes[size_t(backward)].host_total_ns();
    costs.backward_device_self_ns += tree.nodes[size_t(backward)].device_total_ns;
  }

  std::map<u32, size_t> row_of;  // by text
  for (u32 frame = 1; frame < self.size(); frame++) {
    const LineCosts& costs = self[frame];
    if (!costs.self_calls && !costs.host_self_ns && !costs.device_self_ns && !costs.backward_host_self_ns) continue;
    std::vector<u32> seen;
    for (u32 up = frame; up; up = sites.frames()[up].parent) {
      u32 text = sites.frames()[up].text;
      auto [it, added] = row_of.try_emplace(text, out.rows.size());
      if (added) out.rows.emplace_back().name = text;
      LineCosts& row = out.rows[it->second];
      if (up == frame) {
        row.self_calls += costs.self_calls;
        row.host_self_ns += costs.host_self_ns, row.device_self_ns += costs.device_self_ns;
        row.backward_host_self_ns += costs.backward_host_self_ns;
        row.backward_device_self_ns += costs.backward_device_self_ns;
      }
      if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
      seen.push_back(text);
      add(row, costs);
    }
  }
  return out;
}

}  // namespace tprof
