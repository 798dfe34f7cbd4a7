// Tables whose rows form a tree: children follow their parent and precede its next sibling.
//
// A tree has three more columns, shown only in CSV and JSON, which the functions below keep correct: "parent" (the
// number of a row, null at the top), "depth" (0 at the top) and "left_out" (rows below it that were left out).
#pragma once
#include "report/table.h"

namespace tprof {

// `rows` as a tree. `parents`: by row, -1: none; parents come before their children. `left_out`: by row, default: 0.
Table tree_table(Table rows, const std::vector<i32>& parents, const std::vector<i64>& left_out = {});

// The `most` heaviest nodes of a tree and their ancestors, for trees that are too large to make rows of all nodes.
struct HeaviestRows {
  HeaviestRows(const std::vector<i32>& parents, const std::vector<double>& weights, size_t most);
  std::vector<size_t> rows;  // in the order that they had
  std::vector<i32> parents;  // of these, as tree_table() takes them
  std::vector<i64> left_out;
};
std::string rows_left_out(size_t kept, size_t all, const std::string& hint = "");  // a line for the footer

void sort_tree(Table& table, size_t column);

// Leaves out rows deeper than `depth` levels, then all but the `most` heaviest and their ancestors (without weights:
// the least deep ones). 0: no limit. The footer states how many rows there were, and `hint`.
void limit_tree(Table& table, size_t depth, size_t most, const std::vector<double>& weights,
                const std::string& hint = "");
std::vector<double> weights_of(const Table& table, int column);  // none of texts, and of column -1

// The indentation of a row's first text: two blanks per level, one if the tree is deep.
class TreeIndent {
 public:
  explicit TreeIndent(const Table& table);
  size_t of(const std::vector<Value>& row) const;

 private:
  size_t depth_ = 0, each_ = 0;  // the column; 0: no tree
};

}  // namespace tprof
