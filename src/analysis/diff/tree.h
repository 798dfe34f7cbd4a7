// Two sides' calls beside each other: a tree in which each node is a call of both sides, or of one alone.
//
// By our rules a node is a path of names below the step, and what it costs is a mean per step. By the plugin's a node is
// one call, or all calls between two that it can match; see plugin_diff.h.
#pragma once
#include "analysis/tables/call_tree.h"

namespace tprof {

struct DiffNode {
  std::string name, b_name;  // b_name: on the other side, where that is something else
  NodeKind kind = NodeKind::op;
  i32 parent = -1;  // index into DiffTree::nodes
  bool in_a = true, in_b = true;
  CallCosts a = {}, b = {};
  double a_total_ns = 0, b_total_ns = 0;  // CallCosts::total_ns(), of several calls the sum of that of each
  // What it is called among its siblings' bars, "" none; and, of those from the first one to it, the sums of the totals.
  std::string bar = {};
  double a_accumulated_ns = 0, b_accumulated_ns = 0;
};

// All calls of an operator inside a node. Its own calls inside itself count in calls and self times; in totals once by
// our rules, each time by the plugin's.
struct DiffTotal {
  u32 node;  // index into DiffTree::nodes
  std::string name;
  bool in_a = false, in_b = false;
  CallCosts a = {}, b = {};
};

struct DiffTree {
  std::vector<DiffNode> nodes;                      // [0]: all; a parent before its children, siblings in order
  std::vector<DiffTotal> totals;                    // by node; by our rules of node 0 alone
  bool a_has_device = false, b_has_device = false;  // GPU work was recorded
};

// By path. Siblings come in A's order; what only B has stands behind what it follows there.
DiffTree diff_tree(const CallTree& a, const CallTree& b);

// --- for the two builders

// `bar` is set, and sums are wanted.
void accumulate_bars(DiffTree& tree);

}  // namespace tprof
