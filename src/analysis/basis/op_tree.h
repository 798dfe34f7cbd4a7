// How operators, labels, steps and CUDA calls of all threads nest: one forest, with each node's self time on the host
// and the GPU work that it launched. Tables of operators, kernels, memory and modules are sums over it.
//
// A node's time is subtracted from its parent exactly once, even if nodes overlap, so the self times of a thread sum to
// the time in which anything ran on it. NVTX ranges and torch's internal operators are not nodes, and Python calls only
// on request: their children belong to the node around them. An operator whose only child has the same name is one node
// with it (as in torch).
#pragma once
#include "analysis/basis/rule_set.h"
#include "analysis/basis/tensor_cores.h"
#include "model/trace.h"

namespace tprof {

enum class NodeKind : u8 {
  op,
  label,  // a range that the program marks (record_function)
  step,
  call,    // a CUDA call; tprof's rules only
  module,  // a call of an nn.Module
  python,  // a call of another Python function; by the plugin's rules an event of the category "python"
  data_loader,
  optimizer,
  lightning,
  backward,
  root,  // the plugin's rules only
};

struct OpNode {
  i64 begin_ns = 0, end_ns = 0;
  i64 host_self_ns = 0;                         // without children; 0 if it may end on another thread
  i64 device_self_ns = 0;                       // sum of the durations of the GPU work that it launched itself
  i64 device_total_ns = 0;                      // the same with that of its descendants
  i64 tensor_self_ns = 0, tensor_total_ns = 0;  // the part in kernels that are known to use tensor cores
  bool tensor_self_unknown = false, tensor_total_unknown = false;  // whether some kernels do is not known
  i32 parent = -1;                                                 // index into OpTree::nodes
  u32 name = 0;                                                    // index into Model::names
  u32 thread = 0;     // index into Model::threads; the plugin's rules: number of the tree
  u32 event = kNone;  // index into Model::events, kNone: it has none
  u32 call = kNone;   // index into Model::calls
  NodeKind kind = NodeKind::op;
  bool eligible = false;  // it, or a node inside it, could use tensor cores
  bool listed = true;     // tables of operators have a row for it

  i64 host_total_ns() const { return end_ns - begin_ns; }
};

struct OpTree {
  std::vector<OpNode> nodes;   // in order of start, parents before their children
  std::vector<i32> of_gpu;     // by Model::gpu: the node that launched it, -1: none
  std::vector<i32> of_memory;  // by Model::memory: the innermost node open on its thread at that time, -1: none
  // By the plugin's rules several nodes may count the same kernel. Kept here and not in PluginTree: the table of
  // kernels (analysis/tables) is computed from either tree.
  struct Launch {
    u32 gpu;   // index into Model::gpu: a kernel
    i32 node;  // the node that counts it; of_gpu holds the node that names it
    i64 ns;
  };
  std::vector<Launch> launches;
  i64 unattributed_ns = 0;  // GPU work that no node launched
  RuleSet rules = RuleSet::tprof;
};

// Which Python calls are nodes.
enum class PythonNodes : u8 { none, modules, all };

OpTree build_op_tree(const Model& model, PythonNodes python = PythonNodes::none);

// By node: the innermost frame of its call stack, else of that of the node around it; 0: none.
std::vector<u32> call_stacks(const Model& model, const OpTree& tree);

// The plugin's name for a node.
std::string node_name(const Model& model, const OpNode& node);

// Fills in the self times on the host, from starts, ends and parents.
void fill_host_self(OpTree& tree);
// Fills in the device times, from `of_gpu`, and the use of tensor cores, by the names of kernels and operators.
void fill_device(const Model& model, OpTree& tree);

}  // namespace tprof
