#include "analysis/basis/op_tree.h"

#include <algorithm>

#include "analysis/basis/lanes.h"
#include "model/python.h"

namespace tprof {
namespace {

// Internal operators that torch's key_averages leaves out; their time counts for the operator around them.
constexpr std::string_view kInternal[] = {"profiler::_record_function_enter",
                                          "profiler::_record_function_enter_new",
                                          "profiler::_record_function_exit",
                                          "aten::is_leaf",
                                          "aten::output_nr",
                                          "aten::_version"};

struct OpTreeBuilder {
  OpTreeBuilder(const Model& from, PythonNodes which) : model(from), python(which) {}

  const Model& model;
  const PythonNodes python;
  OpTree tree;
  std::vector<i32> of_event;                 // by Model::events: its node, or the node around it
  std::vector<u32> children;                 // by node: how many
  std::vector<u8> internal;                  // by name: whether it is one of kInternal
  std::vector<std::vector<i32>> open_calls;  // by thread
  std::vector<i32> of_call;                  // by Model::calls: its node
  std::vector<i32> latest;                   // by thread: the node of the event that started last

  bool is_internal(u32 name) {
    if (internal.empty()) {
      internal.resize(model.names.size());
      for (size_t i = 0; i < internal.size(); i++)
        internal[i] = std::find(std::begin(kInternal), std::end(kInternal), model.names[i]) != std::end(kInternal);
    }
    return internal[name];
  }

  void add_event(u32 index) {
    const Event& event = model.events[index];
    i32 parent = event.parent < 0 ? -1 : of_event[size_t(event.parent)];
    of_event[index] = parent;
    NodeKind kind = kind_of(event);
    bool is_python = kind == NodeKind::python || kind == NodeKind::module;
    if (event.flags & kEventNvtx || is_internal(event.name)) return;
    if (is_python && !(kind == NodeKind::module ? python >= PythonNodes::modules : python == PythonNodes::all)) return;
    OpNode node;
    node.begin_ns = event.begin_ns;
    node.end_ns = event.end_ns();
    node.parent = parent;
    node.name = event.name;
    node.thread = event.thread;
    node.event = index;
    node.kind = kind;
    node.listed = !is_of_a_rest(event);
    of_event[index] = latest[event.thread] = add(node);
  }

  bool is_of_a_rest(const Event& event) const {
    for (u32 kind = 1; kind <= kStretchKinds && event.flags & kEventStretch; kind++)
      if (is_rest(StretchKind(kind)) && model.names[event.name].starts_with(prefix_of(StretchKind(kind)))) return true;
    return false;
  }

  NodeKind kind_of(const Event& event) const {
    if (is_python(event)) return is_module(event) ? NodeKind::module : NodeKind::python;
    return event.flags & kEventStep                           ? NodeKind::step
           : event.scope != u8(Scope::user)                   ? NodeKind::op
           : model.names[event.name].starts_with(kStepPrefix) ? NodeKind::step
                                                              : NodeKind::label;
  }

  // The innermost node around a moment if that is a Python call, else -1.
  i32 python_at(u32 thread, i64 ns) const {
    i32 at = latest[thread];
    while (at >= 0 && tree.nodes[size_t(at)].end_ns <= ns) at = tree.nodes[size_t(at)].parent;
    if (at < 0) return -1;
    NodeKind kind = tree.nodes[size_t(at)].kind;
    return kind == NodeKind::python || kind == NodeKind::module ? at : -1;
  }

  void add_call(u32 index) {
    const CallEvent& call = model.calls[index];
    OpNode node;
    node.begin_ns = call.begin_ns;
    node.end_ns = call.end_ns();
    node.parent = call.op < 0 ? -1 : of_event[size_t(call.op)];
    node.name = call.name;
    node.thread = call.thread;
    node.call = index;
    node.kind = NodeKind::call;
    if (i32 inner = python_at(call.thread, call.begin_ns); inner >= 0) node.parent = inner;
    // A call may lie inside another call of the same operator.
    std::vector<i32>& open = open_calls[call.thread];
    while (!open.empty() && tree.nodes[size_t(open.back())].end_ns <= node.begin_ns) open.pop_back();
    if (!open.empty()) {
      const OpNode& outer = tree.nodes[size_t(open.back())];
      if (outer.end_ns >= node.end_ns && outer_op(open.back()) == node.parent) node.parent = open.back();
    }
    open.push_back(add(node));
    of_call[index] = open.back();
  }

  i32 outer_op(i32 at) const {
    while (at >= 0 && tree.nodes[size_t(at)].kind == NodeKind::call) at = tree.nodes[size_t(at)].parent;
    return at;
  }

  i32 add(const OpNode& node) {
    if (node.parent >= 0) children[size_t(node.parent)]++;
    tree.nodes.push_back(node);
    children.push_back(0);
    return i32(tree.nodes.size() - 1);
  }

  void add_all() {
    of_event.assign(model.events.size(), -1);
    open_calls.resize(model.threads.size());
    of_call.assign(model.calls.size(), -1);
    latest.assign(model.threads.size(), -1);
    tree.nodes.reserve(model.events.size() + model.calls.size());
    children.reserve(tree.nodes.capacity());
    u32 call = 0;
    for (u32 event = 0; event < model.events.size(); event++) {
      for (; call < model.calls.size() && model.calls[call].begin_ns < model.events[event].begin_ns; call++)
        add_call(call);
      add_event(event);
    }
    for (; call < model.calls.size(); call++) add_call(call);
  }

  // Removes nodes that are one with their parent; references to them then point to the parent.
  void merge_doubles() {
    std::vector<i32> to(tree.nodes.size());
    size_t kept = 0;
    for (size_t i = 0; i < tree.nodes.size(); i++) {
      OpNode node = tree.nodes[i];
      i32 parent = node.parent;  // its number before the merge
      if (node.parent >= 0) node.parent = to[size_t(parent)];
      if (parent >= 0 && node.kind == NodeKind::op) {
        const OpNode& outer = tree.nodes[size_t(node.parent)];
        u32& siblings = children[size_t(parent)];
        if (outer.kind == NodeKind::op && outer.name == node.name && siblings == 1) {
          to[i] = node.parent;
          children_of_merged(i, parent);
          continue;
        }
      }
      to[i] = i32(kept);
      tree.nodes[kept++] = node;
    }
    tree.nodes.resize(kept);
    for (std::vector<i32>* nodes : {&of_event, &of_call})
      for (i32& node : *nodes)
        if (node >= 0) node = to[size_t(node)];
  }
  // The parent takes over the children of the node that is merged into it. Both keep the count, because later nodes
  // still name the merged node as their parent.
  void children_of_merged(size_t merged, i32 parent) { children[size_t(parent)] = children[merged]; }

  void attribute_gpu() {
    tree.of_gpu.assign(model.gpu.size(), -1);
    for (size_t i = 0; i < model.gpu.size(); i++)
      if (model.gpu[i].op >= 0)
        tree.of_gpu[i] = of_event[size_t(model.gpu[i].op)];
      else if (python != PythonNodes::none && model.gpu[i].call != kNone)  // a Python call launched it directly
        tree.of_gpu[i] = outer_op(of_call[model.gpu[i].call]);
  }

  // The node of a moment is the last one of its thread that had started, or one around that.
  void attribute_memory() {
    std::vector<std::vector<i32>> by_thread(model.threads.size());
    for (size_t i = 0; i < tree.nodes.size(); i++)
      if (tree.nodes[i].kind != NodeKind::call) by_thread[tree.nodes[i].thread].push_back(i32(i));
    std::vector<size_t> begun(model.threads.size());
    tree.of_memory.assign(model.memory.size(), -1);
    for (size_t i = 0; i < model.memory.size(); i++) {
      const MemoryEvent& memory = model.memory[i];
      const std::vector<i32>& own = by_thread[memory.thread];
      size_t& next = begun[memory.thread];
      while (next < own.size() && tree.nodes[size_t(own[next])].begin_ns <= memory.ns) next++;
      i32 at = next ? own[next - 1] : -1;
      while (at >= 0 && tree.nodes[size_t(at)].end_ns <= memory.ns) at = tree.nodes[size_t(at)].parent;
      tree.of_memory[i] = at;
    }
  }
};

}  // namespace

OpTree build_op_tree(const Model& model, PythonNodes python) {
  OpTreeBuilder builder(model, python);
  builder.add_all();
  builder.merge_doubles();
  builder.attribute_gpu();
  builder.attribute_memory();
  OpTree& tree = builder.tree;
  fill_host_self(tree);
  for (OpNode& node : tree.nodes)
    if (node.event != kNone && model.events[node.event].flags & kEventAsync) node.host_self_ns = 0;
  fill_device(model, tree);
  fill_lanes(model, tree);
  return std::move(tree);
}

std::vector<u32> call_stacks(const Model& model, const OpTree& tree) {
  std::vector<u32> out(tree.nodes.size());
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    const OpNode& node = tree.nodes[i];
    u32 own = node.event == kNone ? 0 : model.events[node.event].stack;
    out[i] = own ? own : node.parent < 0 ? 0 : out[size_t(node.parent)];
  }
  return out;
}

void fill_host_self(OpTree& tree) {
  std::vector<i64> covered(tree.nodes.size());  // by node: its time up to here has been given to its children
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    OpNode& node = tree.nodes[i];
    node.host_self_ns = node.host_total_ns();
    covered[i] = node.begin_ns;
    if (node.parent < 0) continue;
    auto parent = size_t(node.parent);
    i64 begin = std::max(node.begin_ns, covered[parent]);
    i64 end = std::min(node.end_ns, tree.nodes[parent].end_ns);
    if (end <= begin) continue;
    tree.nodes[parent].host_self_ns -= end - begin;
    covered[parent] = end;
  }
}

void fill_device(const Model& model, OpTree& tree) {
  TensorCoreNames names(model, tree.rules);
  for (size_t i = 0; i < model.gpu.size(); i++) {
    const GpuEvent& work = model.gpu[i];
    if (!work.runs_on_gpu()) continue;
    i32 at = tree.of_gpu[i];
    if (at < 0) {
      tree.unattributed_ns += work.dur_ns;
      continue;
    }
    OpNode& node = tree.nodes[size_t(at)];
    node.device_self_ns += work.dur_ns;
    if (work.kind() != Kind::kernel) continue;
    TensorCoreUse answer = names.answer(work.name);
    if (answer == TensorCoreUse::yes) node.tensor_self_ns += work.dur_ns;
    node.tensor_self_unknown |= answer == TensorCoreUse::unknown;
  }
  for (OpNode& node : tree.nodes) {
    node.device_total_ns = node.device_self_ns;
    node.tensor_total_ns = node.tensor_self_ns;
    node.tensor_total_unknown = node.tensor_self_unknown;
    if (node.kind == NodeKind::call || node.kind == NodeKind::root) continue;
    node.eligible = names.op(node.name) || (node.kind == NodeKind::op && node.tensor_self_ns > 0);
  }
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    const OpNode& node = tree.nodes[i];
    if (node.parent < 0) continue;
    OpNode& parent = tree.nodes[size_t(node.parent)];
    parent.device_total_ns += node.device_total_ns;
    parent.tensor_total_ns += node.tensor_total_ns;
    parent.tensor_total_unknown |= node.tensor_total_unknown;
    if (node.eligible && parent.kind == NodeKind::op) parent.eligible = true;
  }
}

std::string node_name(const Model& model, const OpNode& node) {
  if (node.kind == NodeKind::root) return "CallTreeRoot";
  std::string name = model.names[node.name];
  if (node.kind == NodeKind::backward) return name + ".backward";
  if (node.kind != NodeKind::lightning) return name;
  if (name.starts_with(kLightningProfile)) return name.substr(std::string_view(kLightningProfile).size());
  name.erase(0, std::string_view(kLightningModule).size());
  size_t end = name.find(": ");
  return end == name.npos ? name.substr(1) : name.substr(end + 2);  // without a colon it takes off one letter
}

}  // namespace tprof
