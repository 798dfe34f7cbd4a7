// Operators aggregated by name, by name and input shapes, or by name and call stack, as torch.profiler's key_averages()
// and torch_tb_profiler's operator tables show them.
//
// Host self time excludes operators, labels and CUDA calls inside. Device time is the sum of the GPU work launched in a
// call, whenever it ran, also on parallel streams. The time of an operator inside itself counts once in totals (by the
// plugin's rules twice; their memory is in plugin_compat/memory.h).
#pragma once
#include <map>

#include "analysis/basis/op_tree.h"

namespace tprof {

// The names under which tables sum up steps, evaluations and inference; other names are unchanged.
inline const std::string kAllSteps = "ProfilerStep*";
// By StretchKind - 1.
inline const std::string kAllStretches[] = {"Evaluation*", "Inference*", "After the loop*", "Left over*",
                                            "Between the steps*"};
inline const std::string& common_name(const std::string& name) {
  return name.starts_with(kStepPrefix) ? kAllSteps : name;
}

// What identifies a row besides the operator's name, as bits.
enum class OperatorKey : u8 { name = 0, shape = 1, stack = 2, shape_stack = 3 };
constexpr bool by_shape(OperatorKey key) { return u8(key) & u8(OperatorKey::shape); }
constexpr bool by_stack(OperatorKey key) { return u8(key) & u8(OperatorKey::stack); }

// A device whose memory is counted. CPU first, then GPUs by number.
struct MemoryDevice {
  u8 type = 0;    // c10::DeviceType
  i8 index = -1;  // -1 none
  auto operator<=>(const MemoryDevice&) const = default;
};
constexpr u8 kHipDeviceType = 6;
inline bool is_gpu_memory(u8 type) { return type == kCudaDeviceType || type == kHipDeviceType; }
std::string device_type_text(u8 type);         // c10's name; GPU for CUDA and HIP
std::string device_text(MemoryDevice device);  // CPU, GPU0, XPU1

// What was allocated and released while an operator was open. Releases count for the operator that is open then.
struct MemoryUse {
  i64 increase_bytes = 0, self_increase_bytes = 0;  // allocated less released
  i64 allocated_bytes = 0, self_allocated_bytes = 0;
  u64 allocations = 0, self_allocations = 0;

  MemoryUse& operator+=(const MemoryUse& more) {
    increase_bytes += more.increase_bytes;
    self_increase_bytes += more.self_increase_bytes;
    allocated_bytes += more.allocated_bytes;
    self_allocated_bytes += more.self_allocated_bytes;
    allocations += more.allocations;
    self_allocations += more.self_allocations;
    return *this;
  }
};

struct OperatorRow {
  std::string name;         // steps are one: ProfilerStep*; so are Evaluation*, Inference*
  std::string input_shape;  // by shape: "[[2, 3], []]"
  std::vector<u32> stack;   // by stack: the innermost frames, indices into Model::stacks
  NodeKind kind = NodeKind::op;
  u64 calls = 0;
  i64 host_self_ns = 0, host_total_ns = 0;
  i64 device_self_ns = 0, device_total_ns = 0;
  i64 tensor_self_ns = 0, tensor_total_ns = 0;
  bool tensor_self_unknown = false, tensor_total_unknown = false;  // of some of its kernels
  bool eligible = false;                                           // for tensor cores
  bool has_stack = false;                                          // a call of it has a call stack
  std::map<MemoryDevice, MemoryUse> memory;

  double tensor_self_ratio() const { return device_self_ns > 0 ? double(tensor_self_ns) / double(device_self_ns) : 0; }
  double tensor_total_ratio() const {
    return device_total_ns > 0 ? double(tensor_total_ns) / double(device_total_ns) : 0;
  }
};

struct Operators {
  std::vector<OperatorRow> rows;  // in order of first call
  i64 host_self_ns = 0;           // of all rows: torch's "Self CPU time total"
  i64 device_self_ns = 0;         // of all GPU work: torch's "Self CUDA time total"
  i64 unattributed_ns = 0;        // the part of it that no row launched
  bool has_device = false;        // GPU work was recorded
  bool has_shapes = false, has_stacks = false, has_memory = false;
};

// `stack_depth`: frames that make a key, 0 all.
Operators operators(const Model& model, const OpTree& tree, OperatorKey key, u32 stack_depth = 0);

// Of the devices of a type; of kCudaDeviceType: of all GPUs.
MemoryUse memory_of(const OperatorRow& row, u8 device_type);

// The name of a node's row. By tprof's rules all steps share a row, and so do all evaluations and all inference.
const std::string& row_name_of(const Model& model, const OpNode& node, RuleSet rules);

// Frames of a stack from the innermost on, at most `depth`, 0 all: indices into Model::stacks.
std::vector<u32> frames_of(const Model& model, u32 stack, u32 depth);

}  // namespace tprof
