#include "plugin_compat/diff.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tprof {
namespace {

using Call = PluginDiffSide::Call;
using Calls = std::vector<u32>;

bool is_anchor(NodeKind kind) {
  return kind == NodeKind::backward || kind == NodeKind::data_loader || kind == NodeKind::module ||
         kind == NodeKind::optimizer || kind == NodeKind::step;
}

// The label below a bar of its chart, which has no bars for unmatched calls and for operators.
std::string bar_of(std::string name) {
  if (name == "CompositeNodes" || name.starts_with("aten::")) return "";
  for (std::string_view prefix : {"enumerate(DataLoader)", "enumerate(DataPipe)", "nn.Module: "})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  for (const char* step : {"Optimizer.zero_grad", "Optimizer.step"})
    if (name.starts_with(step)) name = step;
  return name;
}

class Comparison {
 public:
  Comparison(const PluginDiffSide& a, const PluginDiffSide& b) : a_(a), b_(b) {}

  DiffTree run() {
    out_.a_has_device = out_.b_has_device = true;  // it shows zeros if there is none
    add(a_.top, b_.top, -1);
    accumulate_bars(out_);
    return std::move(out_);
  }

 private:
  void add(const Calls& left, const Calls& right, i32 parent) {
    DiffNode node;
    node.name = name_of(a_, left), node.b_name = name_of(b_, right);
    node.kind = left.size() == 1 ? a_.calls[left[0]].kind : NodeKind::root;
    node.parent = parent;
    node.in_a = !left.empty(), node.in_b = !right.empty();
    std::tie(node.a, node.a_total_ns) = sum_of(a_, left);
    std::tie(node.b, node.b_total_ns) = sum_of(b_, right);
    if (parent >= 0) node.bar = bar_of(node.name);
    auto at = u32(out_.nodes.size());
    out_.nodes.push_back(std::move(node));
    add_totals(at, left, right);
    if (left.size() == 1 && right.size() == 1)
      compare(a_.calls[left[0]].inside, b_.calls[right[0]].inside, i32(at));
    else if (left.size() > 1 && right.size() > 1)
      compare(left, right, i32(at));
  }

  void compare(const Calls& left, const Calls& right, i32 parent) {
    std::map<std::pair<NodeKind, std::string>, std::vector<size_t>> places;  // on the right, in order
    for (size_t j = 0; j < right.size(); j++) {
      const Call& call = b_.calls[right[j]];
      if (is_anchor(call.kind)) places[{call.kind, call.name}].push_back(j);
    }
    std::vector<std::pair<size_t, size_t>> pairs;
    size_t next = 0;
    for (size_t i = 0; i < left.size(); i++) {
      const Call& call = a_.calls[left[i]];
      auto found = is_anchor(call.kind) ? places.find({call.kind, call.name}) : places.end();
      if (found == places.end()) continue;
      auto j = std::lower_bound(found->second.begin(), found->second.end(), next);
      if (j == found->second.end()) continue;
      pairs.push_back({i, *j});
      next = *j + 1;
    }
    if (pairs.empty()) return;
    auto part = [](const Calls& calls, size_t from, size_t to) {
      return Calls(calls.begin() + i64(from), calls.begin() + i64(to));
    };
    auto add_between = [&](const Calls& l, const Calls& r) {
      if (!l.empty() || !r.empty()) add(l, r, parent);
    };
    size_t l = 0, r = 0;
    for (auto [i, j] : pairs) {
      add_between(part(left, l, i), part(right, r, j));
      add({left[i]}, {right[j]}, parent);
      l = i + 1, r = j + 1;
    }
    add_between(part(left, l, left.size()), part(right, r, right.size()));
  }

  static std::string name_of(const PluginDiffSide& side, const Calls& calls) {
    return calls.empty() ? "Blank" : calls.size() > 1 ? "CompositeNodes" : side.calls[calls[0]].name;
  }

  static std::pair<CallCosts, double> sum_of(const PluginDiffSide& side, const Calls& calls) {
    CallCosts out;
    double total_ns = 0;
    for (u32 i : calls) {
      out.add(side.calls[i].costs, {});
      total_ns += side.calls[i].costs.total_ns();
    }
    return {out, total_ns};
  }

  void add_totals(u32 node, const Calls& left, const Calls& right) {
    std::map<std::string, DiffTotal> totals;
    for (u32 i : left) add_inside(a_, i, true, totals);
    for (u32 i : right) add_inside(b_, i, false, totals);
    for (auto& [name, total] : totals) {
      total.node = node, total.name = name;
      out_.totals.push_back(std::move(total));
    }
  }

  static void add_inside(const PluginDiffSide& side, u32 at, bool is_a, std::map<std::string, DiffTotal>& totals) {
    std::vector<u32> todo{at};
    while (!todo.empty()) {
      const Call& call = side.calls[todo.back()];
      todo.pop_back();
      todo.insert(todo.end(), call.inside.begin(), call.inside.end());
      if (!call.listed) continue;
      DiffTotal& total = totals[call.name];
      (is_a ? total.in_a : total.in_b) = true;
      (is_a ? total.a : total.b).add(call.costs, {});
    }
  }

  const PluginDiffSide &a_, &b_;
  DiffTree out_;
};

}  // namespace

PluginDiffSide plugin_diff_side(const Model& model, const OpTree& tree) {
  PluginDiffSide out;
  std::vector<u32> steps, others;
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    if (i && node.parent < 0) break;  // the first thread's tree ends here
    CallCosts costs;
    costs.calls = 1;
    costs.host_self_ns = double(node.host_self_ns), costs.host_total_ns = double(node.host_total_ns());
    costs.device_self_ns = double(node.device_self_ns), costs.device_total_ns = double(node.device_total_ns);
    out.calls.push_back({node_name(model, node), node.kind, node.listed, costs, {}});
    if (node.parent >= 0) out.calls[size_t(node.parent)].inside.push_back(u32(i));
    if (node.parent == 0) (node.kind == NodeKind::step ? steps : others).push_back(u32(i));
  }
  if (steps.empty()) out.top = others;
  for (u32 step : steps) out.top.insert(out.top.end(), out.calls[step].inside.begin(), out.calls[step].inside.end());
  return out;
}

DiffTree plugin_diff_tree(const PluginDiffSide& a, const PluginDiffSide& b) { return Comparison(a, b).run(); }

}  // namespace tprof
