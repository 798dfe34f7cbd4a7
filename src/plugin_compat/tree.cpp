// The operator trees of torch_tb_profiler 0.4.3, for --plugin-compat. The plugin joins events by ids that need not be
// unique, and loses events whose id does not match. Where its result depends on a property of Python (times compared as
// floats, the order of dictionaries), it is reproduced.
//
// A CUDA call belongs to the first operator that has its External id, and to the root of its thread's tree if the id is
// 0 (to both if an operator has that id). GPU work belongs to the call with its correlation id. Driver calls are
// ignored. Kernels whose call is missing belong to the root of each tree with steps. backward.h moves the backward
// nodes of modules; after that, memory_nodes.h assigns memory events to nodes.
//
// Durations are differences of the doubles in which the plugin keeps times; in microseconds since 1970 these are 0.25
// apart.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "model/plugin_trace.h"
#include "plugin_compat/backward.h"
#include "plugin_compat/memory_nodes.h"
#include "plugin_compat/tree.h"

namespace tprof {
namespace {

constexpr i64 kNoId = PluginEvent::kAbsent;

bool is_collective(std::string_view name) {
  for (std::string_view library : {"nccl:", "gloo:"})
    for (std::string_view op : {"broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter"})
      if (name.starts_with(library) && name.substr(library.size()) == op) return true;
  return false;
}

i64 ns_of(double us) { return i64(std::llround(us * 1000)); }  // for durations only: a time loses digits
i64 dur_ns_of(const PluginEvent& event) { return ns_of(event.end_us() - event.ts_us); }

// A CUDA call and what it launched.
struct Runtime {
  struct Activity {
    u32 gpu;  // index into Model::gpu
    i64 ns;
  };
  i64 external_id, tid;
  i64 dur_ns;
  bool tid_is_text;
  std::vector<Activity> activities;
  i64 device_ns = 0, tensor_ns = 0;  // the plugin adds to these for each node that the call is given to
};

struct PluginTreeBuilder {
  const Model& model;
  const PluginTrace& trace;
  const bool of_lightning;  // builds the tree of Lightning's actions, not that of operators
  PluginTree tree;
  std::vector<Runtime> runtimes;
  std::vector<Runtime::Activity> stale;         // kernels without a call
  std::vector<std::vector<u32>> runtimes_of{};  // by node
  std::vector<u32> children;                    // by node: how many
  std::vector<i64> tids;                        // threads with operators, in order of their first one

  // Since the first event.
  i64 moment_ns(double ts_us) const { return ns_of(ts_us - trace.events.front().ts_us); }

  // --- what becomes a node
  bool node_kind(const PluginEvent& event, NodeKind& kind, bool& is_operator) const {
    const std::string& name = model.names[event.name];
    is_operator = event.type == PluginType::op;
    kind = NodeKind::lightning;
    if (of_lightning) return event.type == PluginType::lightning_profile;
    switch (event.type) {
      case PluginType::step: kind = NodeKind::step; return true;
      case PluginType::module: kind = NodeKind::module; return true;
      case PluginType::lightning_module: return true;
      case PluginType::op:
      case PluginType::python:
      case PluginType::label: break;
      default: return false;
    }
    bool loads = (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) ||
                 name.starts_with("enumerate(DataPipe)#");
    kind = loads                                ? NodeKind::data_loader
           : name.starts_with("Optimizer.step") ? NodeKind::optimizer
           : event.type == PluginType::python   ? NodeKind::python
           : event.type == PluginType::label    ? NodeKind::label
                                                : NodeKind::op;
    return kind != NodeKind::label || is_collective(name);
  }

  void join_calls_and_work() {
    std::unordered_map<i64, size_t> last;                             // by correlation id
    std::unordered_map<i64, std::vector<Runtime::Activity>> waiting;  // activities whose call was not read yet
    for (const PluginEvent& event : trace.events) {
      bool work = event.type == PluginType::kernel || event.type == PluginType::copy || event.type == PluginType::set;
      if (work) {
        auto call = last.find(event.correlation);
        (call != last.end() ? runtimes[call->second].activities : waiting[event.correlation])
            .push_back({event.item, dur_ns_of(event)});
      } else if (event.type == PluginType::runtime) {
        Runtime runtime{event.external_id, event.tid, dur_ns_of(event), event.tid_is_text, {}};
        if (auto early = waiting.find(event.correlation); early != waiting.end()) {
          runtime.activities = std::move(early->second);
          waiting.erase(early);
        }
        last[event.correlation] = runtimes.size();
        runtimes.push_back(std::move(runtime));
      }
    }
    for (const auto& [correlation, activities] : waiting)
      std::copy_if(activities.begin(), activities.end(), std::back_inserter(stale),
                   [&](auto& work) { return is_kernel(work); });
  }

  bool is_kernel(const Runtime::Activity& work) const { return model.gpu[work.gpu].kind() == Kind::kernel; }

  struct Found {
    const PluginEvent* event;
    NodeKind kind;
    bool is_operator;
    std::vector<u32> runtimes;
  };

  void build() {
    if (!of_lightning) join_calls_and_work();
    std::unordered_map<i64, std::vector<u32>> by_external_id;
    for (u32 i = 0; i < runtimes.size(); i++) by_external_id[runtimes[i].external_id].push_back(i);
    std::map<i64, std::vector<Found>> lists;
    for (const PluginEvent& event : trace.events) {
      Found found{&event, NodeKind::op, false, {}};
      if (!node_kind(event, found.kind, found.is_operator)) continue;
      auto& list = lists[event.tid];
      if (list.empty()) tids.push_back(event.tid);
      list.push_back(std::move(found));
    }
    for (i64 tid : tids)
      for (Found& found : lists[tid]) {
        auto calls = by_external_id.find(found.kind == NodeKind::module ? kNoId : found.event->external_id);
        if (calls == by_external_id.end()) continue;
        found.runtimes = std::move(calls->second);
        by_external_id.erase(calls);
      }
    for (u32 number = 0; number < tids.size(); number++) add_tree(number, lists[tids[number]]);
    merge_doubles();
  }

  void add_tree(u32 number, std::vector<Found>& list) {
    std::stable_sort(list.begin(), list.end(), [](const Found& a, const Found& b) {
      return a.event->ts_us != b.event->ts_us ? a.event->ts_us < b.event->ts_us : a.event->end_us() > b.event->end_us();
    });
    i32 root = add_root(number, list);
    struct Open {
      i32 node;
      double end_us;
    };
    std::vector<Open> open{{root, HUGE_VAL}};
    for (Found& found : list) {
      const PluginEvent& event = *found.event;
      while (event.ts_us >= open.back().end_us) open.pop_back();
      if (event.end_us() > open.back().end_us) continue;  // overlaps its parent's end: lost, with what it launched
      OpNode node;
      node.begin_ns = moment_ns(event.ts_us);
      node.end_ns = node.begin_ns + dur_ns_of(event);
      node.parent = open.back().node;
      node.name = event.name;
      node.thread = number;
      node.event = event.item;
      node.kind = found.kind;
      const std::string& name = model.names[event.name];
      node.listed = found.kind == NodeKind::op && !name.starts_with(kOptimizerPrefix) &&
                    name != "DataParallel.forward" && name != "DistributedDataParallel.forward";
      children[size_t(node.parent)]++;
      open.push_back({add(node, std::move(found.runtimes)), event.end_us()});
    }
  }

  i32 add_root(u32 number, const std::vector<Found>& list) {
    OpNode root;
    root.thread = number;
    root.kind = NodeKind::root;
    root.listed = false;
    std::vector<u32> calls;
    for (u32 i = 0; i < runtimes.size(); i++)
      if (runtimes[i].external_id == 0 && runtimes[i].tid == tids[number] && !runtimes[i].tid_is_text)
        calls.push_back(i);
    bool has_step = std::any_of(list.begin(), list.end(), [&](const Found& found) {
      return model.names[found.event->name].starts_with(kStepPrefix);
    });
    if (has_step && !stale.empty()) {
      calls.push_back(u32(runtimes.size()));
      runtimes.push_back({kNoId, 0, 0, false, stale});
    }
    return add(root, std::move(calls));
  }

  i32 add(const OpNode& node, std::vector<u32> calls) {
    tree.nodes.push_back(node);
    children.push_back(0);
    runtimes_of.push_back(std::move(calls));
    return i32(tree.nodes.size() - 1);
  }

  // An operator whose only child has the same name takes over the child's children and calls; its own calls are lost.
  void merge_doubles() {
    std::vector<i32> to(tree.nodes.size());
    size_t kept = 0;
    for (size_t i = 0; i < tree.nodes.size(); i++) {
      OpNode node = tree.nodes[i];
      i32 parent = node.parent;
      if (parent >= 0) {
        node.parent = to[size_t(parent)];
        const OpNode& outer = tree.nodes[size_t(node.parent)];
        if (is_operator(node) && is_operator(outer) && outer.name == node.name && children[size_t(parent)] == 1) {
          to[i] = node.parent;
          children[size_t(parent)] = children[i];
          runtimes_of[size_t(node.parent)] = std::move(runtimes_of[i]);
          continue;
        }
      }
      to[i] = i32(kept);
      if (kept != i) runtimes_of[kept] = std::move(runtimes_of[i]);
      tree.nodes[kept++] = node;
    }
    tree.nodes.resize(kept);
    runtimes_of.resize(kept);
  }
  // Whether the plugin reads it as an operator, even if its tables list it under another category.
  static bool is_operator(const OpNode& node) {
    return node.kind == NodeKind::op || node.kind == NodeKind::data_loader || node.kind == NodeKind::optimizer;
  }

  // Children before their parents, thread by thread: a call that two nodes share counts twice for the later node.
  void fill() {
    TensorCoreNames names(model, RuleSet::plugin);
    tree.of_gpu.assign(model.gpu.size(), -1);
    for (OpNode& node : tree.nodes) {
      node.host_self_ns = node.host_total_ns();
      node.eligible = node.kind != NodeKind::root && names.op(node.name);
    }
    for (size_t begin = 0, end; begin < tree.nodes.size(); begin = end) {
      for (end = begin + 1; end < tree.nodes.size() && tree.nodes[end].parent >= 0;) end++;
      for (size_t i = end; i-- > begin;) {
        OpNode& node = tree.nodes[i];
        for (u32 call : runtimes_of[i]) give(i32(i), runtimes[call], names);
        if (node.kind == NodeKind::op && node.tensor_self_ns > 0) node.eligible = true;
        if (node.parent < 0) continue;
        OpNode& outer = tree.nodes[size_t(node.parent)];
        outer.host_self_ns -= node.host_total_ns();
        outer.device_total_ns += node.device_total_ns;
        outer.tensor_total_ns += node.tensor_total_ns;
        outer.eligible |= node.eligible && outer.kind == NodeKind::op;
      }
    }
  }

  void give(i32 at, Runtime& call, TensorCoreNames& names) {
    OpNode& node = tree.nodes[size_t(at)];
    for (const Runtime::Activity& work : call.activities) {
      tree.of_gpu[work.gpu] = at;
      call.device_ns += work.ns;
      if (!is_kernel(work)) continue;
      tree.launches.push_back({work.gpu, at, work.ns});
      if (names.kernel(model.gpu[work.gpu].name)) call.tensor_ns += work.ns;
    }
    node.host_self_ns -= call.dur_ns;
    node.device_self_ns += call.device_ns, node.device_total_ns += call.device_ns;
    node.tensor_self_ns += call.tensor_ns, node.tensor_total_ns += call.tensor_ns;
  }

  // A root lasts from the start of its first child to the end of its last one.
  void span_roots() {
    std::vector<bool> seen(tree.nodes.size());
    for (const OpNode& node : tree.nodes) {
      if (node.parent < 0 || tree.nodes[size_t(node.parent)].kind != NodeKind::root) continue;
      OpNode& root = tree.nodes[size_t(node.parent)];
      if (!seen[size_t(node.parent)]) root.begin_ns = node.begin_ns;
      seen[size_t(node.parent)] = true;
      root.end_ns = node.end_ns;
    }
  }

  // Arrows from forward to backward operators in the order of the plugin's dictionaries: by id, as in the file.
  PluginArrows arrows() const {
    std::vector<i64> ids;
    std::unordered_map<i64, double> starts, ends;
    for (const PluginTrace::ArrowEnd& end : trace.arrows)
      if (auto [it, added] = (end.start ? starts : ends).insert_or_assign(end.id, end.ts_us); added && end.start)
        ids.push_back(end.id);
    PluginArrows out;
    for (i64 id : ids)
      if (auto end = ends.find(id); end != ends.end()) out.push_back({moment_ns(starts[id]), moment_ns(end->second)});
    return out;
  }
};

}  // namespace

namespace {

PluginTree built(PluginTreeBuilder builder) {
  builder.tree.rules = RuleSet::plugin;
  builder.build();
  PluginTree& tree = builder.tree;
  builder.fill();
  builder.span_roots();
  if (builder.of_lightning) return std::move(tree);
  move_backward(tree, builder.model, builder.arrows());
  find_memory_nodes(tree, builder.model, builder.trace, builder.tids);
  return std::move(tree);
}

}  // namespace

PluginTree build_plugin_tree(const Model& model, const PluginTrace& trace) {
  return built({model, trace, false, {}, {}, {}, {}, {}, {}});
}

OpTree build_lightning_tree(const Model& model, const PluginTrace& trace) {
  return built({model, trace, true, {}, {}, {}, {}, {}, {}});
}

}  // namespace tprof
