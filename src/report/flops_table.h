// FLOPs as a table: `tprof stats --by flops`.
#pragma once
#include "analysis/flops.h"
#include "report/table.h"

namespace tprof {

// Operators with one set of inputs: FLOPs, TFLOP/s, share of the roof, what bounds them; MFU in the footer.
Table flops_table(const Model& model, const Flops& flops);

}  // namespace tprof
