#include "analysis/plugin_modules.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/module_tree.h"
#include "model/plugin_trace.h"
#include "model/python.h"

namespace tprof {
namespace {

// A module call with those inside it, told apart by what they are.
struct ModuleShape {
  u32 name;
  std::vector<ModuleShape> children;
  bool operator==(const ModuleShape&) const = default;
};

class PluginModuleReader {
 public:
  PluginModuleReader(const Model& model, const PluginTrace& trace, const OpTree& tree)
      : model_(model), trace_(trace), tree_(tree) {}

  std::vector<PluginModule> run() {
    sum_calls();
    for (const ModuleShape& root : hierarchy()) show(root, 0);
    return std::move(out_);
  }

 private:
  void sum_calls() {
    for (size_t i = 0; i < tree_.nodes.size(); i++) {
      const OpNode& node = tree_.nodes[i];
      if (node.listed && node.parent >= 0)
        if (const OpNode& outer = tree_.nodes[size_t(node.parent)]; outer.kind == NodeKind::module)
          figures_[outer.name].operators++;
      if (node.kind != NodeKind::module) continue;
      PluginModule& figures = figures_[node.name];
      figures.occurrences++;
      figures.host_total_ns += node.host_total_ns();
      figures.host_self_ns += node.host_self_ns;
      figures.device_total_ns += node.device_total_ns;
      figures.device_self_ns += node.device_self_ns;
    }
  }

  // Each module call hangs on the nearest one around it, over Python calls of other kinds.
  std::vector<ModuleShape> hierarchy() const {
    struct Call {
      u32 id, parent, name;
      bool module;
    };
    std::vector<Call> calls;
    std::unordered_map<u32, size_t> by_id;
    for (const PluginEvent& event : trace_.events) {
      if (event.type != PluginType::module && event.type != PluginType::python_function) continue;
      if (event.item >= model_.events.size() || !(model_.events[event.item].flags & kEventPython)) continue;
      const PythonDetail& detail = python_detail(model_.events[event.item]);
      by_id[detail.id] = calls.size();
      calls.push_back({detail.id, detail.parent, event.name, event.type == PluginType::module});
    }
    std::vector<size_t> roots;
    std::map<size_t, std::vector<size_t>> inside;
    for (size_t i = 0; i < calls.size(); i++) {
      if (!calls[i].module) continue;
      auto up = by_id.find(calls[i].parent);
      for (size_t steps = 0; up != by_id.end() && !calls[up->second].module && steps < calls.size(); steps++)
        up = by_id.find(calls[up->second].parent);
      bool is_root = up == by_id.end() || !calls[up->second].module || up->second >= i;  // begun later: no parent
      (is_root ? roots : inside[up->second]).push_back(i);
    }
    auto shape_of = [&](auto& self, size_t i) -> ModuleShape {
      ModuleShape shape{calls[i].name, {}};
      if (auto found = inside.find(i); found != inside.end())
        for (size_t child : found->second) shape.children.push_back(self(self, child));
      return shape;
    };
    std::vector<ModuleShape> unique;
    for (size_t root : roots) {
      ModuleShape shape = shape_of(shape_of, root);
      if (std::find(unique.begin(), unique.end(), shape) == unique.end()) unique.push_back(std::move(shape));
    }
    std::stable_sort(unique.begin(), unique.end(),
                     [&](const ModuleShape& a, const ModuleShape& b) { return model_.names[a.name] < model_.names[b.name]; });
    return unique;
  }

  void show(const ModuleShape& shape, u32 depth) {
    PluginModule row = figures_[shape.name];
    row.name = model_.names[shape.name];
    if (row.name.starts_with(kModuleCallPrefix)) row.name.erase(0, kModuleCallPrefix.size());
    row.depth = depth;
    out_.push_back(row);
    for (const ModuleShape& child : shape.children) show(child, depth + 1);
  }

  const Model& model_;
  const PluginTrace& trace_;
  const OpTree& tree_;
  std::map<u32, PluginModule> figures_;  // by name, which has the module's number
  std::vector<PluginModule> out_;
};

}  // namespace

std::vector<PluginModule> plugin_modules(const Model& model, const PluginTrace& trace, const OpTree& tree) {
  return PluginModuleReader(model, trace, tree).run();
}

}  // namespace tprof
