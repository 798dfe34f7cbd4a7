#include "analysis/tables/module_tree.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/basis/backward.h"

namespace tprof {
namespace {

struct ModuleTreeBuilder {
  const Model& model;
  const OpTree& ops;
  ModuleTree out;
  std::vector<i32> place_of;  // by Model::events: the module call in which it lies, or is: index into calls
  std::vector<i32> node_of;   // by Model::events: its own node, -1 none
  struct Call {
    i32 place, parent;  // parent: index into calls
    i64 covered;        // up to here its time was given to what lies inside
  };
  std::vector<Call> calls;
  std::map<std::pair<i32, u32>, i32> known;  // parent place, module -> place
  std::vector<i32> call_of_op;               // by node: the module call that it lies in

  const PythonDetail* module_call(const Event& event) const {
    if (!(event.flags & kEventPython) || !event.python) return nullptr;
    return event.python->module == kNone ? nullptr : event.python;
  }

  i32 place(i32 parent, const Event& event, u32 module) {
    auto [it, added] = known.try_emplace({parent, module}, i32(out.places.size()));
    if (!added) return it->second;
    ModulePlace place;
    place.name = model.names[event.name];
    if (place.name.starts_with(kModuleCallPrefix)) place.name.erase(0, kModuleCallPrefix.size());
    place.module = module;
    place.parameters = model.modules[module].parameters;
    place.parameter_bytes = model.modules[module].parameter_bytes;
    out.has_parameters |= place.parameters != kUncounted;
    place.parent = parent;
    place.depth = parent < 0 ? 0 : out.places[size_t(parent)].depth + 1;
    out.places.push_back(std::move(place));
    return it->second;
  }

  // Takes [begin, end) from the own time of a module's call.
  void cover(i32 call, i64 begin, i64 end) {
    if (call < 0) return;
    Call& c = calls[size_t(call)];
    begin = std::max(begin, c.covered);
    if (end <= begin) return;
    out.places[size_t(c.place)].host_self_ns -= end - begin;
    c.covered = end;
  }

  void walk_events() {
    node_of.assign(model.events.size(), -1);
    for (size_t i = 0; i < ops.nodes.size(); i++)
      if (ops.nodes[i].event != kNone) node_of[ops.nodes[i].event] = i32(i);
    place_of.assign(model.events.size(), -1);
    call_of_op.assign(ops.nodes.size(), -1);
    for (size_t i = 0; i < model.events.size(); i++) {
      const Event& event = model.events[i];
      i32 outer = event.parent < 0 ? -1 : place_of[size_t(event.parent)];
      place_of[i] = outer;
      if (const PythonDetail* detail = module_call(event)) {
        i32 at = place(outer < 0 ? -1 : calls[size_t(outer)].place, event, detail->module);
        ModulePlace& p = out.places[size_t(at)];
        p.occurrences++;
        p.host_total_ns += event.dur_ns;
        p.host_self_ns += event.dur_ns;
        cover(outer, event.begin_ns, event.end_ns());
        place_of[i] = i32(calls.size());
        calls.push_back({at, outer, event.begin_ns});
      } else if (node_of[i] >= 0) {
        call_of_op[size_t(node_of[i])] = outer;
        if (is_direct(node_of[i], outer)) add_operator(ops.nodes[size_t(node_of[i])], outer);
      }
    }
  }

  // In a module's call, and in no operator inside it.
  bool is_direct(i32 node, i32 call) const {
    const OpNode& n = ops.nodes[size_t(node)];
    return call >= 0 && n.kind == NodeKind::op &&
           (n.parent < 0 || call_of_op[size_t(n.parent)] != call || ops.nodes[size_t(n.parent)].kind != NodeKind::op);
  }

  void add_operator(const OpNode& node, i32 call) {
    ModulePlace& place = out.places[size_t(calls[size_t(call)].place)];
    place.operators++;
    cover(call, node.begin_ns, node.end_ns);
  }

  void add_device() {
    for (const GpuEvent& work : model.gpu) {
      i32 call = work.op < 0 || !work.runs_on_gpu() ? -1 : place_of[size_t(work.op)];
      if (call >= 0) out.places[size_t(calls[size_t(call)].place)].device_self_ns += work.dur_ns;
    }
  }

  // The forward operator of a pair lies in a module; the wrapper around the backward one is its cost.
  void add_backward() {
    for (const ForwardBackward& pair : backward_passes(model, [&](u32 forward) { return place_of[forward] >= 0; })) {
      i32 call = place_of[pair.forward];
      i32 node = node_of[pair.backward];
      ModulePlace& place = out.places[size_t(calls[size_t(call)].place)];
      place.backward_host_ns += model.events[pair.backward].dur_ns;
      if (node >= 0) place.backward_device_ns += ops.nodes[size_t(node)].device_total_ns;
    }
    out.has_backward = !model.pairs.empty();
  }

  void add_up() {
    for (ModulePlace& place : out.places) place.device_total_ns = place.device_self_ns;
    for (size_t i = out.places.size(); i-- > 0;) {
      const ModulePlace& place = out.places[i];
      if (place.parent < 0) continue;
      ModulePlace& parent = out.places[size_t(place.parent)];
      parent.device_total_ns += place.device_total_ns;
      parent.backward_host_ns += place.backward_host_ns;
      parent.backward_device_ns += place.backward_device_ns;
    }
  }
};

// Places in the order of a tree: each followed by what lies inside.
void order_depth_first(std::vector<ModulePlace>& places) {
  std::vector<std::vector<i32>> inside(places.size() + 1);
  for (size_t i = 0; i < places.size(); i++) inside[size_t(places[i].parent + 1)].push_back(i32(i));
  std::vector<ModulePlace> out;
  std::vector<std::pair<i32, i32>> todo;  // place, its parent's new number
  auto push_inside = [&](i32 place, i32 number) {
    const auto& list = inside[size_t(place + 1)];
    for (auto it = list.rbegin(); it != list.rend(); ++it) todo.push_back({*it, number});
  };
  push_inside(-1, -1);
  while (!todo.empty()) {
    auto [place, parent] = todo.back();
    todo.pop_back();
    out.push_back(places[size_t(place)]);
    out.back().parent = parent;
    push_inside(place, i32(out.size() - 1));
  }
  places = std::move(out);
}

}  // namespace

ModuleTree module_tree(const Model& model, const OpTree& tree) {
  ModuleTreeBuilder builder{model, tree, {}, {}, {}, {}, {}, {}};
  builder.walk_events();
  builder.add_device();
  builder.add_backward();
  builder.add_up();
  order_depth_first(builder.out.places);
  return std::move(builder.out);
}

std::vector<ModuleClass> module_classes(const Model& model, const ModuleTree& tree) {
  std::vector<ModuleClass> out;
  std::map<u32, size_t> known;  // by the class's name
  std::set<u32> seen;           // modules
  auto class_of = [&](i32 place) { return model.modules[tree.places[size_t(place)].module].class_name; };
  for (size_t i = 0; i < tree.places.size(); i++) {
    const ModulePlace& place = tree.places[i];
    u32 name = class_of(i32(i));
    auto [it, added] = known.try_emplace(name, out.size());
    if (added) out.push_back({model.names[name]});
    ModuleClass& sum = out[it->second];
    sum.modules += seen.insert(place.module).second;
    sum.occurrences += place.occurrences;
    sum.operators += place.operators;
    sum.host_self_ns += place.host_self_ns;
    sum.device_self_ns += place.device_self_ns;
    bool inside = false;
    for (i32 up = place.parent; up >= 0 && !inside; up = tree.places[size_t(up)].parent) inside = class_of(up) == name;
    if (inside) continue;
    sum.host_total_ns += place.host_total_ns;
    sum.device_total_ns += place.device_total_ns;
  }
  return out;
}

}  // namespace tprof
