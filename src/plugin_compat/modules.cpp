#include "plugin_compat/modules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/tables/module_tree.h"
#include "model/plugin_trace.h"
#include "model/python.h"

namespace tprof {
namespace {

// A module with its child modules, identified by name and children.
struct ModuleShape {
  u32 name;
  std::vector<ModuleShape> children;
  bool operator==(const ModuleShape&) const = default;
};

using Figures = std::map<std::string, PluginModule>;  // by the name of the module, with its number

// Sums over all nodes that are calls of modules: those for which `name` is not empty. It does not look for them in
// backward nodes, where calls that are made anew (checkpoints) stand.
template <class Name>
Figures figures_of(const OpTree& tree, Name name) {
  Figures out;
  std::vector<bool> backward(tree.nodes.size());
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    backward[i] = node.kind == NodeKind::backward || (node.parent >= 0 && backward[size_t(node.parent)]);
    if (backward[i]) continue;
    std::string own = name(node);
    std::string outer = node.parent < 0 ? "" : name(tree.nodes[size_t(node.parent)]);
    if (node.listed && node.kind == NodeKind::op && own.empty() && !outer.empty()) {
      PluginModule& module = out[outer];
      module.operators++;
      module.device_self_ns += node.device_total_ns;
    }
    if (own.empty()) continue;
    PluginModule& figures = out[own];
    figures.occurrences++;
    figures.host_total_ns += node.host_total_ns();
    figures.host_self_ns += node.host_self_ns;
    figures.device_total_ns += node.device_total_ns;
    figures.device_self_ns += node.device_self_ns;
  }
  return out;
}

class PluginModuleReader {
 public:
  PluginModuleReader(const Model& model, const PluginTrace& trace, const OpTree& tree)
      : model_(model), trace_(trace), tree_(tree) {}

  std::vector<PluginModule> run() {
    figures_ = figures_of(tree_, [&](const OpNode& node) {
      return node.kind == NodeKind::module ? node_name(model_, node) : "";
    });
    for (const ModuleShape& root : hierarchy()) show(root, -1);
    return std::move(out_);
  }

 private:
  struct Call {
    u32 parent, name;
    bool module;
  };
  struct Place {
    u32 id;
    std::optional<u32> outer;  // the module around it
  };

  // Modules in the order in which walks from the innermost to the outermost Python call reach them.
  std::vector<Place> places(const std::unordered_map<u32, Call>& calls, const std::vector<u32>& innermost) const {
    std::vector<Place> places;
    std::unordered_map<u32, size_t> place_of;
    std::set<std::pair<u32, std::optional<u32>>> seen;
    for (u32 start : innermost) {
      std::optional<u32> inner;
      u32 id = start;
      for (auto call = calls.find(id); call != calls.end(); id = call->second.parent, call = calls.find(id)) {
        if (call->second.module) {
          if (inner) places[place_of[*inner]].outer = id;
          inner = id;
          if (place_of.try_emplace(id, places.size()).second) places.push_back({id, {}});
        }
        if (!seen.insert({id, inner}).second) break;
      }
    }
    return places;
  }

  // The parent of a module call is the nearest module call around it; other Python calls are skipped. Of calls with the
  // same id the last one counts.
  std::vector<ModuleShape> hierarchy() const {
    std::unordered_map<u32, Call> calls;
    std::vector<u32> ids;  // those that are named first as a parent, too
    std::unordered_set<u32> known, outer;
    auto meet = [&](u32 id) {
      if (known.insert(id).second) ids.push_back(id);
    };
    for (const PluginEvent& event : trace_.events) {
      if (event.type != PluginType::module && event.type != PluginType::python_function) continue;
      if (event.item >= model_.events.size() || !(model_.events[event.item].flags & kEventPython)) continue;
      const PythonDetail& detail = python_detail(model_.events[event.item]);
      calls[detail.id] = {detail.parent, event.name, event.type == PluginType::module};
      meet(detail.id);
      meet(detail.parent);
      outer.insert(detail.parent);
    }
    std::erase_if(ids, [&](u32 id) { return outer.count(id); });
    std::vector<u32> roots;
    std::unordered_map<u32, std::vector<u32>> inside;
    for (const Place& place : places(calls, ids)) (place.outer ? inside[*place.outer] : roots).push_back(place.id);
    auto shape_of = [&](auto& self, u32 id) -> ModuleShape {
      ModuleShape shape{calls[id].name, {}};
      if (auto found = inside.find(id); found != inside.end())
        for (u32 child : found->second) shape.children.push_back(self(self, child));
      return shape;
    };
    std::vector<ModuleShape> unique;
    for (u32 root : roots) {
      ModuleShape shape = shape_of(shape_of, root);
      if (std::find(unique.begin(), unique.end(), shape) == unique.end()) unique.push_back(std::move(shape));
    }
    std::stable_sort(unique.begin(), unique.end(), [&](const ModuleShape& a, const ModuleShape& b) {
      return model_.names[a.name] < model_.names[b.name];
    });
    return unique;
  }

  void show(const ModuleShape& shape, i32 parent) {
    PluginModule row = figures_[model_.names[shape.name]];
    row.name = model_.names[shape.name];
    if (row.name.starts_with(kModuleCallPrefix)) row.name.erase(0, kModuleCallPrefix.size());
    row.parent = parent;
    auto at = i32(out_.size());
    out_.push_back(row);
    for (const ModuleShape& child : shape.children) show(child, at);
  }

  const Model& model_;
  const PluginTrace& trace_;
  const OpTree& tree_;
  Figures figures_;
  std::vector<PluginModule> out_;
};

}  // namespace

std::vector<PluginModule> plugin_modules(const Model& model, const PluginTrace& trace, const OpTree& tree) {
  return PluginModuleReader(model, trace, tree).run();
}

std::vector<PluginModule> lightning_modules(const Model& model, const OpTree& tree) {
  auto name = [&](const OpNode& node) -> std::string {
    if (node.kind == NodeKind::root || !model.names[node.name].starts_with(kLightningModule)) return "";
    if (tree.rules == RuleSet::plugin && node.kind != NodeKind::lightning) return "";
    OpNode named = node;
    named.kind = NodeKind::lightning;
    return node_name(model, named);
  };
  std::vector<std::string> names;  // in order of first call
  Figures figures = figures_of(tree, name);
  for (const OpNode& node : tree.nodes)
    if (std::string text = name(node); !text.empty() && std::find(names.begin(), names.end(), text) == names.end())
      names.push_back(text);
  std::map<std::string, std::vector<std::string>> inside;
  std::vector<std::string> roots;
  for (const std::string& each : names) {
    size_t dot = each.rfind('.');
    std::string outer = dot == each.npos ? "" : each.substr(0, dot);
    (dot != each.npos && figures.count(outer) ? inside[outer] : roots).push_back(each);
  }
  std::sort(roots.begin(), roots.end());
  std::vector<PluginModule> out;
  auto show = [&](auto& self, const std::string& each, i32 parent) -> void {
    PluginModule row = figures[each];
    row.name = each, row.parent = parent;
    auto at = i32(out.size());
    out.push_back(row);
    for (const std::string& child : inside[each]) self(self, child, at);
  };
  for (const std::string& root : roots) show(show, root, -1);
  return out;
}

}  // namespace tprof
