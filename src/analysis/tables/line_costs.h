// What lines of source cost: the operators that they called, and what autograd ran for these operators.
//
// A line is a frame of a call stack. Self: operators that the line called itself; total: also those called by functions
// that the line called. A line that is on a stack twice counts once. Host times are self times of operators and their
// CUDA calls, so no moment counts twice; Python's own time between them is not part of any line. If the trace has no
// call stacks, its Python calls are used instead: a line is then the first line of a function.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/op_tree.h"

namespace tprof {

struct LineCosts {
  u32 name = 0;                   // "file(line): function", index into Model::names
  u64 self_calls = 0, calls = 0;  // of outermost operators
  i64 host_self_ns = 0, host_total_ns = 0;
  i64 device_self_ns = 0, device_total_ns = 0;
  // What autograd ran for these operators, at any time and on any thread; self: for the line's own operators.
  i64 backward_host_self_ns = 0, backward_host_ns = 0;
  i64 backward_device_self_ns = 0, backward_device_ns = 0;
};

struct CostsByLine {
  std::vector<LineCosts> rows;  // in the order in which lines are first met
  bool of_calls = false;        // no call stacks: lines are those of Python calls
  bool has_device = false, has_backward = false;
  i64 host_ns = 0, without_line_ns = 0;  // host time of all operators, and of those whose line is not known
};

// `tree`: build_op_tree() with all Python calls.
CostsByLine line_costs(const Model& model, const OpTree& tree);

}  // namespace tprof
