// Whether everything that both sides did became faster or slower by the same share: so looks a machine that changed its
// clock or is shared with others, and seldom a change of the program.
#pragma once
#include "analysis/diff/side.h"

namespace tprof {

struct DiffRow;

struct Alike {
  bool found = false;
  DiffBy by = DiffBy::operator_host;
  // Of the times of the rows, as shares of A: the middle, and between what the middle half of the time lies.
  double ratio = 0, low = 0, high = 0;
};
// Of rows of this kind. Found: eight rows or more with equally many calls on both sides hold four fifths of the time of
// both; the middle is 3 % or more, and the middle half no wider than half of it.
Alike alike(const std::vector<DiffRow>& rows, DiffBy by);

}  // namespace tprof
