// Which columns of a table fit into a width, and how wide each is.
#pragma once
#include <string>
#include <vector>

#include "report/table.h"

namespace tprof {

using Lines = std::vector<std::string>;
using Cells = std::vector<std::vector<Lines>>;  // the whole texts, by row and column

inline bool is_text(Unit unit) { return unit <= Unit::lines; }

class Layout {
 public:
  static constexpr size_t kGap = 2;  // between columns

  // `room`: the width of the line; 0: no limit.
  Layout(const Table& table, const Cells& cells, size_t room);

  std::vector<size_t> shown, below;  // columns; below: those printed on lines of their own below each row
  std::vector<size_t> width;         // by column
  Lines left_out;                    // titles

 private:
  size_t total() const;
  bool can_shrink(size_t c) const { return is_text(table_.columns[c].unit); }
  size_t least_of(size_t c, size_t least) const;
  void narrow(size_t room);
  void put_stacks_below(size_t least, size_t room);
  void shrink(size_t least, size_t room);
  bool leave_out(bool telling);
  bool tells_apart(size_t column) const;

  const Table& table_;
  const Cells& cells_;
  std::vector<size_t> whole_, title_;  // widths of the cells, and of the longest word of each title
};

}  // namespace tprof
