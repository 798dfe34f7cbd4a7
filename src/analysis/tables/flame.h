// Flame graphs: trees of calling contexts, one for each source of stacks, with what each context cost.
//
//   sampled  stacks of samples, native frames where they were read
//   python   recorded calls of Python functions; if there are none, the recorded call stacks of operators
//   module   nn.Modules, in the order of their calls
//   op       operators, labels, steps and CUDA calls
//   gpu      GPU activities below what launched them: Python frames, then modules, labels and operators
//
// The top nodes are threads. Each cost is given to one node, its innermost context, so the self costs of a tree sum to
// the whole. What lies in no context of the source is given to a node of kind `outside` of its thread. Samples and idle
// time count in the windows (basis/windows.h), as in the tables of samples and of idle time; all else in the whole
// span.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "analysis/basis/op_tree.h"
#include "analysis/time/idle.h"

namespace tprof {

enum class FlameSource : u8 { sampled, python, module, op, gpu };
constexpr u32 kFlameSources = 5;
const char* flame_source_word(FlameSource source);

enum class FlameKind : u8 { thread, python, native, module, op, label, step, call, kernel, copy, set, graph, outside };
const char* flame_kind_word(FlameKind kind);

// A node's own costs exclude what is below it. Bytes count for the context of the allocation: all of them, and those
// that were not released until the end of the span. Idle time counts for the launch that ended it.
enum class FlameCost : u8 {
  count,  // calls, operators of the stack, or GPU activities
  samples,
  on_cpu,  // samples in which the thread ran
  gil,     // samples in which it held the GIL
  host_ns,
  device_ns,
  idle_ns,
  cpu_allocated,
  cpu_kept,
  gpu_allocated,
  gpu_kept,
};
constexpr u32 kFlameCosts = u32(FlameCost::gpu_kept) + 1;
using FlameCosts = std::array<double, kFlameCosts>;

struct FlameNode {
  std::string name;  // frames: as call stacks have them, with the line; steps are one
  FlameKind kind = FlameKind::thread;
  i32 parent = -1;     // index into FlameTree::nodes
  u32 thread = kNone;  // index into Model::threads, lanes are with their owner; kNone: not known
  FlameCosts self{}, total{};
};

struct FlameTree {
  FlameSource source = FlameSource::op;
  std::vector<FlameNode> nodes;           // parents before their children
  std::array<bool, kFlameCosts> known{};  // costs that were recorded for this source
  bool of_calls = false;                  // Python frames are those of calls, and not of call stacks

  double sum(FlameCost cost) const;  // of all threads
};

// What flame graphs are computed from. `lanes`: idle() of the Model.
struct FlameInput {
  const Model& model;
  const OpTree& ops;          // build_op_tree() without Python calls
  const OpTree& with_python;  // with all of them
  const Windows& windows;
  const std::vector<IdleLane>& lanes;
  bool steps_only = false;  // only what started in a step that counts
};

// Trees of the sources that were recorded.
std::vector<FlameTree> flame_trees(const FlameInput& input);

// The name of a frame without its line, by which frames of different versions of a file are the same function.
std::string flame_function(const FlameNode& node);

}  // namespace tprof
