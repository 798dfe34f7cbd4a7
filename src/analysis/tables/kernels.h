// Kernels aggregated: by name, or by name, operator and launch properties. Means over time are weighted by duration.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

struct KernelRow {
  std::string name;
  TensorCoreUse tensor_cores = TensorCoreUse::no;
  u64 calls = 0;
  i64 total_ns = 0, max_ns = 0, min_ns = 0;
  double blocks_per_sm = -1;  // mean over the launches that state it, weighted by duration; -1: none does
  double occupancy = -1;      // in percent; mean in the same way
  // By operator:
  std::string op;                   // empty: launched by none
  bool op_eligible = false;         // for tensor cores
  i32 grid[3] = {}, block[3] = {};  // 0: not stated
  u32 registers = 0;                // per thread
  u32 shared_bytes = 0;             // static and dynamic

  double mean_ns() const { return calls ? double(total_ns) / double(calls) : 0; }
};

struct Kernels {
  std::vector<KernelRow> rows;  // in order of first launch
  i64 total_ns = 0, tensor_ns = 0, tensor_unknown_ns = 0;
  bool state_blocks = false, state_occupancy = false;  // some kernel of the trace does
};

Kernels kernels_by_name(const Model& model, RuleSet rules);

// By the plugin's rules kernels outside its operator trees are left out, and kernels that several nodes count are
// counted for each of them.
Kernels kernels_by_op(const Model& model, const OpTree& tree);

}  // namespace tprof
