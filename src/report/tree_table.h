// Tables whose rows form a tree: each row stands behind the one that it hangs on, and before that one's next sibling.
//
// Such a table has three columns more, which only data show and which the functions below keep right: "parent" (a
// number of a row, null at the top), "depth" (0 at the top) and "left_out" (rows below it that were left out).
#pragma once
#include "report/table.h"

namespace tprof {

// `rows` as a tree. `parents`: by row, -1 none; parents come before their children. `left_out`: by row, none unless said.
Table tree_table(Table rows, const std::vector<i32>& parents, const std::vector<i64>& left_out = {});

// For a table whose rows would be too many to make first: the `most` heaviest of a tree, with what they hang on.
struct HeaviestRows {
  HeaviestRows(const std::vector<i32>& parents, const std::vector<double>& weights, size_t most);
  std::vector<size_t> rows;  // in the order that they had
  std::vector<i32> parents;  // of these, as tree_table() takes them
  std::vector<i64> left_out;
};
std::string rows_left_out(size_t kept, size_t all, const std::string& hint = "");  // a line for the footer

void sort_tree(Table& table, size_t column);

// Leaves out rows that lie deeper than `depth` levels, then all but the `most` heaviest, with what they hang on; those
// that lie less deep where there are no weights. 0: no limit. Says in the footer how many there were, and `hint`.
void limit_tree(Table& table, size_t depth, size_t most, const std::vector<double>& weights,
                const std::string& hint = "");
std::vector<double> weights_of(const Table& table, int column);  // none of texts, and of column -1

// Blanks before the first text of a row: two for each level, one where the tree is deep.
class TreeIndent {
 public:
  explicit TreeIndent(const Table& table);
  size_t of(const std::vector<Value>& row) const;

 private:
  size_t depth_ = 0, each_ = 0;  // the column; 0: no tree
};

}  // namespace tprof
