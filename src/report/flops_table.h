// FLOPs as tables: `tprof stats --by flops`.
#pragma once
#include "analysis/time/flops.h"
#include "report/table.h"

namespace tprof {

// Operators with one set of inputs: FLOPs, TFLOP/s, share of the roof, what bounds them; MFU in the footer.
Table flops_table(const Model& model, const Flops& flops);

// The share of the time in operators whose FLOPs are known.
Table flops_coverage_table(const Flops& flops);

// The other operators, whose FLOPs are not counted.
Table flops_missing_table(const Model& model, const Flops& flops);

}  // namespace tprof
