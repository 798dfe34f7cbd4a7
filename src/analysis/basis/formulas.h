// How many floating-point operations an operator takes, by the shapes of its inputs: the formulas of formulas.def.
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

// Nothing, where the inputs do not tell. `first`: the index of the first tensor that the formula looks at.
using Formula = std::optional<OpCount> (*)(const std::vector<OpInput>& inputs, size_t first);

struct FormulaRow {
  Formula formula;  // nullptr: shapes do not tell, neither of this operator nor of those inside it
  size_t first;
};

const FormulaRow* formula_of(std::string_view op);  // nullptr: it has none

}  // namespace tprof
