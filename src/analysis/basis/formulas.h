// How many floating-point operations an operator takes, from the shapes of its inputs: the formulas of formulas.def.
#pragma once
#include <optional>
#include <string_view>

#include "analysis/basis/tensors.h"

namespace tprof {

struct OpCount {
  double flops;
  double bytes;  // < 0: not known
  u8 dtype;      // at::ScalarType
};

// Returns nothing if the inputs do not determine the count. `first`: the index of the first tensor that is used.
using Formula = std::optional<OpCount> (*)(const std::vector<OpInput>& inputs, size_t first);

struct FormulaRow {
  Formula formula;  // nullptr: the count does not follow from shapes, also not for operators inside it
  size_t first;
};

const FormulaRow* formula_of(std::string_view op);  // nullptr: it has none

}  // namespace tprof
