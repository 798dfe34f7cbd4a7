// The calls of two sides, matched: a tree in which each node is a call of both sides, or of one.
//
// By tprof's rules a node is a path of names below the step, and its costs are means per step. By the plugin's rules a
// node is one call, or all calls between two that it can match; see plugin_compat/diff.h.
#pragma once
#include "analysis/tables/call_tree.h"

namespace tprof {

struct DiffNode {
  std::string name, b_name;  // b_name: the name in B, if it differs
  NodeKind kind = NodeKind::op;
  i32 parent = -1;  // index into DiffTree::nodes
  bool in_a = true, in_b = true;
  CallCosts a = {}, b = {};
  double a_total_ns = 0, b_total_ns = 0;  // CallCosts::total_ns(), summed over calls
  // The label of its bar in a chart of siblings, "": no bar; and the sums of the totals from the first bar to this one.
  std::string bar = {};
  double a_accumulated_ns = 0, b_accumulated_ns = 0;
};

// All calls of an operator inside a node. Recursive calls count in calls and self times; in totals once by tprof's
// rules, each time by the plugin's.
struct DiffTotal {
  u32 node;  // index into DiffTree::nodes
  std::string name;
  bool in_a = false, in_b = false;
  CallCosts a = {}, b = {};
};

struct DiffTree {
  std::vector<DiffNode> nodes;                      // [0]: all; a parent before its children, siblings in order
  std::vector<DiffTotal> totals;                    // by node; by tprof's rules only of node 0
  bool a_has_device = false, b_has_device = false;  // GPU work was recorded
};

// Matches by path. Siblings are in A's order; nodes that only B has follow their predecessor in B.
DiffTree diff_tree(const CallTree& a, const CallTree& b);

// Fills in the sums, once each `bar` is set.
void accumulate_bars(DiffTree& tree);

}  // namespace tprof
