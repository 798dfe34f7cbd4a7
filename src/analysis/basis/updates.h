// Where an optimizer's own work begins.
#pragma once
#include "analysis/basis/name_classes.h"

namespace tprof {

// The ns from which on a range "Optimizer.step#..." updates: its begin, or where in optimizer.step(closure) (LBFGS,
// Lightning) the closure is over, that is the end of the last backward pass or zero_grad inside of it.
// range: index into Model::events.
i64 updates_from(const Model& model, const NameClasses& classes, u32 range);

}  // namespace tprof
