// Whether everything that both sides did became faster or slower by the same share. The cause is usually the machine
// (its clock changed, or others use it) and seldom a change of the program.
#pragma once
#include "analysis/diff/side.h"

namespace tprof {

struct DiffRow;

struct Alike {
  bool found = false;
  DiffBy by = DiffBy::operator_host;
  // The change of the rows' times as a share of A: the median, and the bounds of the middle half of the time.
  double ratio = 0, low = 0, high = 0;
};
// For rows of this kind. Found if at least eight rows with the same number of calls on both sides hold four fifths of
// the time of both, the median is 3 % or more, and the middle half is no wider than half of the median.
Alike alike(const std::vector<DiffRow>& rows, DiffBy by);

}  // namespace tprof
