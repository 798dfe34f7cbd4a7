#include "analysis/tables/flame.h"

#include <algorithm>

#include "analysis/tables/flame_builder.h"
#include "analysis/tables/memory.h"
#include "analysis/time/python_samples.h"

namespace tprof {
namespace {

constexpr char kNoStack[] = "(no stack)";
constexpr char kNothingAfter[] = "(no launch after it)";

const char* outside_text(FlameSource source) {
  switch (source) {
    case FlameSource::sampled: return kNoStack;
    case FlameSource::python: return "(no Python frame)";
    case FlameSource::module: return "(no nn.Module)";
    case FlameSource::op: return "(no operator)";
    case FlameSource::gpu: return "(launch not known)";
  }
  return "";
}

FlameKind kind_of(const OpNode& node) {
  switch (node.kind) {
    case NodeKind::label: return FlameKind::label;
    case NodeKind::step: return FlameKind::step;
    case NodeKind::call: return FlameKind::call;
    case NodeKind::module: return FlameKind::module;
    case NodeKind::python: return FlameKind::python;
    default: return FlameKind::op;
  }
}

FlameKind kind_of(const GpuEvent& work) {
  return work.kind() == Kind::kernel ? FlameKind::kernel
         : work.kind() == Kind::copy ? FlameKind::copy
         : work.kind() == Kind::set  ? FlameKind::set
                                     : FlameKind::graph;
}

bool is_python_call(const OpNode& node) { return node.kind == NodeKind::python; }

bool is_outermost_op(const OpTree& tree, const OpNode& node) {
  if (node.kind != NodeKind::op) return false;
  for (i32 up = node.parent; up >= 0; up = tree.nodes[size_t(up)].parent)
    if (tree.nodes[size_t(up)].kind == NodeKind::op) return false;
  return true;
}

// A flame graph whose contexts are those of the nodes of an OpTree.
class OfNodes {
 public:
  // `calls`: Python frames are nodes of the tree. Otherwise they are those of `stacks`, by node.
  OfNodes(const FlameInput& input, FlameSource source, bool calls, const std::vector<u32>& stacks)
      : in_(input),
        model_(input.model),
        source_(source),
        tree_(source == FlameSource::op ? input.ops : input.with_python),
        calls_(calls),
        stacks_(stacks),
        out_(input.model, source) {}

  FlameTree run() {
    of_node_.assign(tree_.nodes.size(), -1);
    for (size_t i = 0; i < tree_.nodes.size(); i++) {
      of_node_[i] = place(i);
      if (source_ != FlameSource::gpu) add_host(i);
    }
    add_device();
    add_idle();
    if (source_ != FlameSource::gpu) add_memory();
    out_.is_known(FlameCost::count);
    out_.is_known(FlameCost::host_ns, source_ != FlameSource::gpu);
    out_.tree().of_calls = calls_;
    return out_.finish();
  }

 private:
  bool by_stacks() const {
    return !calls_ && !stacks_.empty() && (source_ == FlameSource::python || source_ == FlameSource::gpu);
  }

  bool shows(const OpNode& node) const {
    switch (source_) {
      case FlameSource::python: return calls_ && (is_python_call(node) || node.kind == NodeKind::module);
      case FlameSource::module: return node.kind == NodeKind::module;
      case FlameSource::gpu: return node.kind != NodeKind::step && node.kind != NodeKind::call;
      default: return true;
    }
  }

  // The context of a node; -1: it is in none.
  i32 place(size_t index) {
    const OpNode& node = tree_.nodes[index];
    i32 outer = node.parent < 0 ? -1 : of_node_[size_t(node.parent)];
    if (by_stacks()) {
      u32 before = node.parent < 0 ? 0 : stacks_[size_t(node.parent)];
      if (stacks_[index] != before) outer = below_stack(node, stacks_[index]);
    }
    if (!shows(node)) return outer;
    return out_.child(outer < 0 ? out_.root(node.thread) : outer, node.name, kind_of(node));
  }

  // The frames of a stack, and below them what the node lies in.
  i32 below_stack(const OpNode& node, u32 stack) {
    std::vector<const OpNode*> around;
    for (i32 up = node.parent; up >= 0; up = tree_.nodes[size_t(up)].parent)
      if (shows(tree_.nodes[size_t(up)])) around.push_back(&tree_.nodes[size_t(up)]);
    i32 at = out_.stack(node.thread, stack);
    for (size_t i = around.size(); i-- > 0;) at = out_.child(at, around[i]->name, kind_of(*around[i]));
    return at;
  }

  bool counts(i64 ns) const { return !in_.steps_only || in_.windows.step_at(ns) >= 0; }

  void add_host(size_t index) {
    const OpNode& node = tree_.nodes[index];
    if (!counts(node.begin_ns)) return;
    i32 at = of_node_[index];
    // The time of a call stack is that of its operators: it does not show what Python did between them.
    bool work = node.kind == NodeKind::op || node.kind == NodeKind::label || node.kind == NodeKind::call;
    bool own_time = source_ != FlameSource::python || calls_ || work;
    if (own_time && node.host_self_ns)
      out_.add(at < 0 ? outside(node.thread) : at, FlameCost::host_ns, double(node.host_self_ns));
    bool counted = by_stacks() ? at >= 0 && is_outermost_op(tree_, node) : shows(node);
    if (counted) out_.add(at, FlameCost::count, 1);
  }

  i32 outside(u32 thread) { return out_.outside(thread, outside_text(source_)); }

  // The context of a launch. Of the GPU's graph the activity itself is the innermost one.
  i32 of_work(u32 gpu) {
    const GpuEvent& work = model_.gpu[gpu];
    i32 node = tree_.of_gpu[gpu];
    i32 at = node < 0 ? -1 : of_node_[size_t(node)];
    if (at < 0 && source_ == FlameSource::gpu && (node >= 0 || work.call != kNone))
      at = out_.root(node >= 0 ? tree_.nodes[size_t(node)].thread : model_.calls[work.call].thread);
    if (at < 0) {
      u32 thread = node >= 0            ? tree_.nodes[size_t(node)].thread
                   : work.call != kNone ? model_.calls[work.call].thread
                                        : kNone;
      at = outside(thread);
    }
    return source_ == FlameSource::gpu ? out_.child(at, work.name, kind_of(work)) : at;
  }

  i64 launched_at(u32 gpu) const {
    const GpuEvent& work = model_.gpu[gpu];
    i32 node = tree_.of_gpu[gpu];
    if (node >= 0) return tree_.nodes[size_t(node)].begin_ns;
    return work.call != kNone ? model_.calls[work.call].begin_ns : work.begin_ns;
  }

  void add_device() {
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      if (!model_.gpu[i].runs_on_gpu()) continue;
      out_.is_known(FlameCost::device_ns);
      if (!counts(launched_at(i))) continue;
      i32 at = of_work(i);
      out_.add(at, FlameCost::device_ns, double(model_.gpu[i].dur_ns));
      if (source_ == FlameSource::gpu) out_.add(at, FlameCost::count, 1);
    }
  }

  void add_idle() {
    for (const IdleLane& lane : in_.lanes) {
      if (lane.stream != kNone) continue;  // streams are parts of their device
      out_.is_known(FlameCost::idle_ns);
      for (const Gap& gap : lane.gaps)
        out_.add(gap.next == kNone ? out_.outside(kNone, kNothingAfter) : of_work(gap.next), FlameCost::idle_ns,
                 double(gap.length()));
    }
  }

  i32 of_memory(u32 memory) {
    const MemoryEvent& event = model_.memory[memory];
    if (by_stacks() && event.stack) return out_.stack(event.thread, event.stack);
    i32 node = tree_.of_memory[memory];
    i32 at = node < 0 ? -1 : of_node_[size_t(node)];
    return at < 0 ? outside(event.thread) : at;
  }

  void add_memory() {
    auto add = [&](u32 index, i64 bytes, FlameCost on_cpu, FlameCost on_gpu) {
      const MemoryEvent& event = model_.memory[index];
      bool gpu = is_gpu_memory(event.device_type);
      if (!gpu && event.device_type != 0) return;
      out_.is_known(gpu ? on_gpu : on_cpu);
      if (bytes > 0 && counts(event.ns)) out_.add(of_memory(index), gpu ? on_gpu : on_cpu, double(bytes));
    };
    for (u32 i = 0; i < model_.memory.size(); i++)
      add(i, model_.memory[i].failed() ? 0 : model_.memory[i].bytes, FlameCost::cpu_allocated,
          FlameCost::gpu_allocated);
    for (const MemoryBlock& block : memory_blocks(model_, tree_)) {
      bool kept = block.allocated_ns != MemoryBlock::kUnseen && block.released_ns == MemoryBlock::kUnseen;
      add(block.event, kept ? block.bytes : 0, FlameCost::cpu_kept, FlameCost::gpu_kept);
    }
  }

  const FlameInput& in_;
  const Model& model_;
  const FlameSource source_;
  const OpTree& tree_;
  const bool calls_;
  const std::vector<u32>& stacks_;
  FlameBuilder out_;
  std::vector<i32> of_node_;
};

FlameTree of_samples(const FlameInput& in) {
  FlameBuilder out(in.model, FlameSource::sampled);
  const double period = sample_period_ns(in.model.sampled);
  for (const StackSample& sample : in.model.samples) {
    if (!in.windows.holds(sample.ns)) continue;
    if (in.steps_only && in.windows.step_at(sample.ns) < 0) continue;
    i32 at = sample.stack ? out.stack(sample.thread, sample.stack) : out.outside(sample.thread, kNoStack);
    out.add(at, FlameCost::samples, 1);
    out.add(at, FlameCost::host_ns, period);
    if (sample.flags & kSampleOnCpu) out.add(at, FlameCost::on_cpu, 1);
    if (sample.flags & kSampleGil) out.add(at, FlameCost::gil, 1);
  }
  for (FlameCost cost : {FlameCost::samples, FlameCost::on_cpu}) out.is_known(cost);
  out.is_known(FlameCost::host_ns, period > 0);
  out.is_known(FlameCost::gil, in.model.sampled.knows_gil);
  return out.finish();
}

}  // namespace

const char* flame_source_word(FlameSource source) {
  static constexpr const char* kWords[] = {"sampled", "python", "module", "operator", "gpu"};
  return kWords[u32(source)];
}

const char* flame_kind_word(FlameKind kind) {
  static constexpr const char* kWords[] = {"thread", "python", "native", "module", "op",    "label",  "step",
                                           "call",   "kernel", "copy",   "set",    "graph", "outside"};
  return kWords[u32(kind)];
}

double FlameTree::sum(FlameCost cost) const {
  double out = 0;
  for (const FlameNode& node : nodes)
    if (node.parent < 0) out += node.total[size_t(cost)];
  return out;
}

std::vector<FlameTree> flame_trees(const FlameInput& in) {
  std::vector<FlameTree> out;
  auto any = [&](auto which) { return std::any_of(in.with_python.nodes.begin(), in.with_python.nodes.end(), which); };
  const bool calls = any(is_python_call);
  const bool modules = any([](const OpNode& node) { return node.kind == NodeKind::module; });
  std::vector<u32> stacks;
  if (!calls) stacks = call_stacks(in.model, in.with_python);
  const bool has_stacks = std::any_of(stacks.begin(), stacks.end(), [](u32 stack) { return stack != 0; });
  if (!has_stacks) stacks.clear();
  auto add = [&](FlameTree tree) {
    if (!tree.nodes.empty()) out.push_back(std::move(tree));
  };
  if (!in.model.samples.empty()) add(of_samples(in));
  if (calls || has_stacks) add(OfNodes(in, FlameSource::python, calls, stacks).run());
  if (modules) add(OfNodes(in, FlameSource::module, calls, stacks).run());
  if (!in.ops.nodes.empty()) add(OfNodes(in, FlameSource::op, calls, stacks).run());
  bool gpu = std::any_of(in.model.gpu.begin(), in.model.gpu.end(), [](auto& work) { return work.runs_on_gpu(); });
  if (gpu) add(OfNodes(in, FlameSource::gpu, calls, stacks).run());
  return out;
}

std::string flame_function(const FlameNode& node) {
  if (node.kind != FlameKind::python && node.kind != FlameKind::native) return node.name;
  size_t close = node.name.rfind("): "), open = close == std::string::npos ? close : node.name.rfind('(', close);
  if (open == std::string::npos || open + 1 == close) return node.name;
  if (node.name.find_first_not_of("0123456789", open + 1) < close) return node.name;
  return node.name.substr(0, open) + node.name.substr(close + 1);
}

}  // namespace tprof
