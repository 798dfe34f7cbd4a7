// The call tree: the calls of an operator tree, where calls with the same path are one node.
//
// A path is the names from the thread (or the step) down. Times are in nanoseconds. Self time excludes children; device
// time is the sum of the GPU work launched in a call, whenever it ran. What autograd runs for a forward operator counts
// twice: where it ran, and as "backward" of the operator with the same sequence number and of all nodes around that.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/op_tree.h"
#include "analysis/basis/windows.h"

namespace tprof {

struct CallCosts {
  double calls = 0;
  double host_self_ns = 0, host_total_ns = 0;
  double device_self_ns = 0, device_total_ns = 0;
  double backward_host_ns = 0, backward_device_ns = 0;

  // The weight of a node: device time if it has any, else host time, as in torch_tb_profiler's Diff view.
  double total_ns() const { return device_total_ns > 0 ? device_total_ns : host_total_ns; }

  struct Weights {
    double times = 1, calls = 1;
  };
  void add(const CallCosts& other, Weights weights);
};

struct CallNode {
  std::string name;  // steps are one, as in tables of operators; a thread's root has none
  NodeKind kind = NodeKind::root;
  i32 parent = -1;     // index into CallTree::nodes
  u32 thread = kNone;  // index into Model::threads, lanes are with their owner; kNone: of all threads
  u32 stack = 0;       // of its calls: index into Model::stacks; 0 where they differ, or none has one
  CallCosts costs;
};

struct CallTree {
  std::vector<CallNode> nodes;  // in order of first call, parents before their children
  bool has_device = false;      // GPU work was recorded
  bool has_backward = false;    // pairs are known
  double unattributed_ns = 0;   // GPU work that no node launched
  double uncharged_ns = 0;      // host time of the engine's work that no pair ties to a forward operator
};

// All calls, a root for each thread.
CallTree call_tree(const Model& model, const OpTree& tree);

// The calls that start in a step that counts, of all threads together; steps themselves are not nodes.
CallTree step_call_tree(const Model& model, const OpTree& tree, const Windows& windows);

// Adds another tree's calls, matched by path. Threads and stacks are those of the first.
void merge(CallTree& into, const CallTree& from, CallCosts::Weights weights);

}  // namespace tprof
