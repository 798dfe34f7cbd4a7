// The nn.Module tree: how often each module ran, what its operators cost on the host and the GPU, forward and backward.
//
// A module is placed below its caller: one that two others call has two places. Its backward pass, which runs later on
// another thread, is found through the forward-backward pairs of its operators.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

constexpr std::string_view kModuleCallPrefix = "nn.Module: ";  // of the names of its calls

struct ModulePlace {
  std::string name;    // "Linear_0"
  u32 module = kNone;  // index into Model::modules
  i32 parent = -1;     // index into ModuleTree::places
  u32 depth = 0;
  u64 occurrences = 0;
  u64 operators = 0;                            // called by it directly, not by a module or operator inside
  i64 host_self_ns = 0, host_total_ns = 0;      // self: without modules and operators inside
  i64 device_self_ns = 0, device_total_ns = 0;  // self: of what was launched in it, but not in a module inside
  // The backward passes of its operators, including modules inside it; 0 if no pairs are known.
  i64 backward_host_ns = 0, backward_device_ns = 0;
  // Its and its children's parameters, shared ones once; kUncounted: not counted (lazy, distributed, of another class).
  u64 parameters = kUncounted, parameter_bytes = 0;
};

struct ModuleTree {
  std::vector<ModulePlace> places;  // a parent stands before its children, siblings in order of first call
  bool has_backward = false;        // pairs are known
  bool has_parameters = false;      // of some modules they are known
};

ModuleTree module_tree(const Model& model, const OpTree& tree);

// All modules of a class. Totals leave out modules inside another module of the class, which includes them.
struct ModuleClass {
  std::string name;  // "Linear"
  u64 modules = 0;   // objects
  u64 occurrences = 0, operators = 0;
  i64 host_self_ns = 0, host_total_ns = 0, device_self_ns = 0, device_total_ns = 0;
};
std::vector<ModuleClass> module_classes(const Model& model, const ModuleTree& tree);  // in order of first call

}  // namespace tprof
