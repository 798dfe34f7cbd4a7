#include "analysis/tables/operators.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "model/inputs.h"

namespace tprof {
namespace {

constexpr u32 kNoRow = kNone;

// Tells the rows apart. Shapes are compared as the bytes that the Model has, texts are made once per row.
class Keys {
 public:
  Keys(const Model& model, RuleSet rules, OperatorKey key, u32 depth)
      : model_(model), rules_(rules), key_(key), depth_(depth) {}

  // What the row of a node is called; equal keys are one row.
  const std::string& of(const OpNode& node) {
    text_.clear();
    text_.append(row_name_of(model_, node, rules_)).append(1, '\0').append(1, char(node.kind));
    if (node.event == kNone || key_ == OperatorKey::name) return text_;
    const Event& event = model_.events[node.event];
    if (by_shape(key_)) text_.append(dims_of(event)).append(1, '\0');
    if (by_stack(key_))
      for (u32 frame : frames_of(model_, event.stack, depth_)) {
        u32 line = model_.stacks[frame].text;
        text_.append(reinterpret_cast<const char*>(&line), sizeof line);
      }
    return text_;
  }

 private:
  const std::string& dims_of(const Event& event) {
    if (!(event.flags & kEventHasInputs)) return dims_[std::string_view()] = "[]";
    auto [it, added] = dims_.try_emplace(event.encoded_inputs());
    if (added) it->second = dims_text(event);
    return it->second;
  }

  const Model& model_;
  RuleSet rules_;
  OperatorKey key_;
  u32 depth_;
  std::string text_;
  std::unordered_map<std::string_view, std::string> dims_;
};

// The order in which nodes are added up. By the plugin's rules children come before their parent; the first node of a
// row defines it.
std::vector<size_t> order_of(const OpTree& tree) {
  std::vector<size_t> order, open;
  for (size_t i = 0; i < tree.nodes.size(); i++) {
    if (tree.rules == RuleSet::tprof) {
      order.push_back(i);
      continue;
    }
    while (!open.empty() && i32(open.back()) != tree.nodes[i].parent) {
      order.push_back(open.back());
      open.pop_back();
    }
    open.push_back(i);
  }
  order.insert(order.end(), open.rbegin(), open.rend());
  return order;
}

// Each allocation and release: to the row of the operator that was open, and in total to the rows of all around it,
// once each.
void add_memory(const Model& model, const OpTree& tree, const std::vector<u32>& row_of,
                std::vector<OperatorRow>& rows) {
  std::vector<u32> counted;
  for (size_t i = 0; i < model.memory.size(); i++) {
    const MemoryEvent& event = model.memory[i];
    if (event.failed()) continue;
    i64 allocated = std::max<i64>(event.bytes, 0);
    counted.clear();
    for (i32 at = tree.of_memory[i]; at >= 0; at = tree.nodes[size_t(at)].parent) {
      u32 row = row_of[size_t(at)];
      if (row == kNoRow) continue;
      MemoryUse& use = rows[row].memory[{event.device_type, event.device_index}];
      if (at == tree.of_memory[i]) {
        use.self_increase_bytes += event.bytes;
        use.self_allocated_bytes += allocated;
        use.self_allocations += allocated > 0;
      }
      if (std::find(counted.begin(), counted.end(), row) != counted.end()) continue;
      counted.push_back(row);
      use.increase_bytes += event.bytes;
      use.allocated_bytes += allocated;
      use.allocations += allocated > 0;
    }
  }
}

}  // namespace

const std::string& row_name_of(const Model& model, const OpNode& node, RuleSet rules) {
  const std::string& name = model.names[node.name];
  if (node.kind != NodeKind::step || rules != RuleSet::tprof) return name;
  if (node.event == kNone || !(model.events[node.event].flags & kEventStretch)) return kAllSteps;
  for (u32 i = 0; i < kStretchKinds; i++)
    if (name.starts_with(kStretchPrefixes[i])) return kAllStretches[i];
  return name;
}

MemoryUse memory_of(const OperatorRow& row, u8 device_type) {
  MemoryUse sum;
  for (const auto& [device, use] : row.memory)
    if (device.type == device_type || (device_type == kCudaDeviceType && is_gpu_memory(device.type))) sum += use;
  return sum;
}

std::string device_type_text(u8 type) {
  static constexpr const char* kNames[] = {"CPU",  "GPU",  "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "GPU",
                                           "FPGA", "MAIA", "XLA",    "Vulkan", "Metal",  "XPU",   "MPS",
                                           "meta", "HPU",  "VE",     "lazy",   "IPU",    "MTIA",  "PrivateUse1"};
  return type < std::size(kNames) ? kNames[type] : "device type " + std::to_string(type) + ":";
}

std::string device_text(MemoryDevice device) {
  return device_type_text(device.type) + (device.type == 0 || device.index < 0 ? "" : std::to_string(device.index));
}

std::vector<u32> frames_of(const Model& model, u32 stack, u32 depth) {
  std::vector<u32> out;
  for (; stack && stack < model.stacks.size() && (!depth || out.size() < depth); stack = model.stacks[stack].parent)
    out.push_back(stack);
  return out;
}

Operators operators(const Model& model, const OpTree& tree, OperatorKey key, u32 stack_depth) {
  Operators out;
  out.unattributed_ns = tree.unattributed_ns;
  out.has_memory = !model.memory.empty();
  for (const GpuEvent& work : model.gpu)
    if (work.runs_on_gpu()) {
      out.has_device = true;
      out.device_self_ns += work.dur_ns;
    }
  Keys keys(model, tree.rules, key, stack_depth);
  std::unordered_map<std::string, u32> rows;
  std::vector<u32> row_of(tree.nodes.size(), kNoRow);
  for (size_t i : order_of(tree)) {
    const OpNode& node = tree.nodes[i];
    if (!node.listed) continue;
    auto [it, added] = rows.try_emplace(keys.of(node), u32(out.rows.size()));
    const Event* event = node.event == kNone ? nullptr : &model.events[node.event];
    if (added) {
      OperatorRow row;
      row.name = row_name_of(model, node, tree.rules);
      row.kind = node.kind;
      row.eligible = node.eligible;
      if (by_shape(key)) row.input_shape = event ? dims_text(*event) : "[]";
      if (by_stack(key) && event) row.stack = frames_of(model, event->stack, stack_depth);
      out.rows.push_back(std::move(row));
    }
    row_of[i] = it->second;
    OperatorRow& row = out.rows[it->second];
    bool inside_itself = false;
    if (tree.rules == RuleSet::tprof) {
      for (i32 up = node.parent; up >= 0 && !inside_itself; up = tree.nodes[size_t(up)].parent)
        inside_itself = row_of[size_t(up)] == it->second;
      row.eligible |= node.eligible;
    }
    row.calls++;
    row.host_self_ns += node.host_self_ns;
    row.device_self_ns += node.device_self_ns;
    row.tensor_self_ns += node.tensor_self_ns;
    row.tensor_self_unknown |= node.tensor_self_unknown;
    row.tensor_total_unknown |= node.tensor_total_unknown;
    out.host_self_ns += node.host_self_ns;
    if (event) {
      out.has_shapes |= event->inputs_count > 0 && event->flags & kEventHasInputs;
      out.has_stacks |= event->stack != 0;
      row.has_stack |= event->stack != 0;
    }
    if (!inside_itself) {
      row.host_total_ns += node.host_total_ns();
      row.device_total_ns += node.device_total_ns;
      row.tensor_total_ns += node.tensor_total_ns;
    }
  }
  if (tree.rules == RuleSet::tprof) add_memory(model, tree, row_of, out.rows);
  return out;
}

}  // namespace tprof
