#include "analysis/tables/flame_builder.h"

#include "analysis/tables/operators.h"

namespace tprof {

FlameBuilder::FlameBuilder(const Model& model, FlameSource source) : model_(model) {
  out_.source = source;
  text_of_name_.assign(model.names.size(), kNone);
}

i32 FlameBuilder::root(u32 thread) {
  u32 owner = thread == kNone ? kNone : model_.threads[thread].owner;
  auto [it, added] = roots_.try_emplace(owner, i32(out_.nodes.size()));
  if (!added) return it->second;
  u32 row = thread;
  if (thread != kNone && model_.threads[thread].is_lane())
    for (u32 i = 0; i < model_.threads.size(); i++)
      if (model_.threads[i].tid == owner) row = i;
  std::string name = "no known thread";
  if (row != kNone) {
    const std::string& given = model_.threads[row].name;
    name = "thread " + std::to_string(owner) + (given.empty() ? "" : " (" + given + ")");
  }
  out_.nodes.push_back({std::move(name), FlameKind::thread, -1, row, {}, {}});
  return it->second;
}

i32 FlameBuilder::named(i32 parent, const std::string& name, FlameKind kind) {
  u32 text = texts_.try_emplace(name, u32(texts_.size())).first->second;
  auto [it, added] = places_.try_emplace({parent, text, kind}, i32(out_.nodes.size()));
  if (added) out_.nodes.push_back({name, kind, parent, out_.nodes[size_t(parent)].thread, {}, {}});
  return it->second;
}

i32 FlameBuilder::child(i32 parent, u32 name, FlameKind kind) {
  u32& text = text_of_name_[name];
  const std::string& shown = kind == FlameKind::step ? common_name(model_.names[name]) : model_.names[name];
  if (kind == FlameKind::step) return named(parent, shown, kind);
  if (text == kNone) text = texts_.try_emplace(shown, u32(texts_.size())).first->second;
  auto known = places_.find({parent, text, kind});
  return known != places_.end() ? known->second : named(parent, shown, kind);
}

i32 FlameBuilder::stack(u32 thread, u32 frame) {
  i32 top = root(thread);
  std::vector<u32> missing;  // innermost first
  i32 at = top;
  for (u32 up = frame; up; up = model_.stacks[up].parent) {
    auto known = of_stacks_.find(u64(u32(top)) << 32 | up);
    if (known != of_stacks_.end()) {
      at = known->second;
      break;
    }
    missing.push_back(up);
  }
  for (size_t i = missing.size(); i-- > 0;) {
    const StackFrame& one = model_.stacks[missing[i]];
    at = child(at, one.text, one.native ? FlameKind::native : FlameKind::python);
    of_stacks_[u64(u32(top)) << 32 | missing[i]] = at;
  }
  return at;
}

i32 FlameBuilder::outside(u32 thread, const char* what) { return named(root(thread), what, FlameKind::outside); }

FlameTree FlameBuilder::finish() {
  std::vector<FlameNode>& nodes = out_.nodes;
  for (FlameNode& node : nodes) node.total = node.self;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].parent < 0) continue;
    FlameCosts& parent = nodes[size_t(nodes[i].parent)].total;
    for (u32 cost = 0; cost < kFlameCosts; cost++) parent[cost] += nodes[i].total[cost];
  }
  std::vector<i32> place(nodes.size(), -1);
  size_t kept = 0;
  for (size_t i = 0; i < nodes.size(); i++) {
    bool any = false;
    for (double cost : nodes[i].total) any |= cost != 0;
    if (!any) continue;
    place[i] = i32(kept);
    FlameNode node = std::move(nodes[i]);
    if (node.parent >= 0) node.parent = place[size_t(node.parent)];
    nodes[kept++] = std::move(node);
  }
  nodes.resize(kept);
  return std::move(out_);
}

}  // namespace tprof
