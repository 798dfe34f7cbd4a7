// Who ran inside whom: operators, labels, steps and CUDA calls of all threads as one forest, with each node's own time
// on the host and the GPU work that it launched. Tables of operators, kernels, memory and modules are sums over it.
//
// A node's time is taken from its parent exactly once, whatever overlaps, so the self times of a thread sum to the time
// in which anything ran on it. NVTX ranges and torch's own plumbing are no nodes, Python calls only where they are asked
// for: what lies in them lies in the node around them. An operator whose only child is called the same is one node with
// it (as in torch).
#pragma once
#include "analysis/basis/rules.h"
#include "analysis/basis/tensor_cores.h"
#include "model/trace.h"

namespace tprof {

enum class NodeKind : u8 {
  op,
  label,  // a range of the program's own (record_function)
  step,
  call,    // a CUDA call; our rules only
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
  i64 host_self_ns = 0;                         // without children; 0 where it may end on another thread
  i64 device_self_ns = 0;                       // durations of the GPU work that it launched itself, simply added
  i64 device_total_ns = 0;                      // with that of everything inside
  i64 tensor_self_ns = 0, tensor_total_ns = 0;  // the part of it in kernels that use tensor cores for certain
  bool tensor_self_unknown = false, tensor_total_unknown = false;  // of some of its kernels that is not known
  i32 parent = -1;                                                 // index into OpTree::nodes
  u32 name = 0;                                                    // index into Model::names
  u32 thread = 0;     // index into Model::threads; plugin's rules: a number of the tree
  u32 event = kNone;  // index into Model::events, kNone: it has none
  u32 call = kNone;   // index into Model::calls
  NodeKind kind = NodeKind::op;
  bool eligible = false;  // tensor cores could serve it, or something inside it
  bool listed = true;     // tables of operators have a row for it

  i64 host_total_ns() const { return end_ns - begin_ns; }
};

struct OpTree {
  std::vector<OpNode> nodes;   // in order of begin, parents before their children
  std::vector<i32> of_gpu;     // by Model::gpu: the node that launched it, -1 none
  std::vector<i32> of_memory;  // by Model::memory: the innermost node open on its thread then, -1 none
  // The plugin's rules only. A range and a kernel may stand in several places.
  struct Launch {
    u32 gpu;   // index into Model::gpu: a kernel
    i32 node;  // where it is counted; it is named by of_gpu
    i64 ns;
  };
  std::vector<Launch> launches;
  std::vector<i32> twin;      // by node: the first node that stands for the same range, itself if there is none
  std::vector<bool> visited;  // by node: an allocation or release was looked for in it; those of twins are the first's
  i64 unattributed_ns = 0;    // GPU work that no node launched
  Rules rules = Rules::tprof;
};

// The Python calls that are nodes.
enum class PythonNodes : u8 { none, modules, all };

OpTree build_op_tree(const Model& model, PythonNodes python = PythonNodes::none);

// What the plugin calls a node.
std::string node_name(const Model& model, const OpNode& node);

// --- for the two builders

// Self times of the host, from begins, ends and parents.
void fill_host_self(OpTree& tree);
// Device times, from `of_gpu`; tensor cores by the names of kernels and operators.
void fill_device(const Model& model, OpTree& tree);

}  // namespace tprof
