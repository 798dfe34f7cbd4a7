// Whether the program has created an optimizer, so that an update should follow its backward passes.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `base`: torch.optim.Optimizer. Torch marks the step function of a class when its first instance is created; all
// classes derived from `base` are searched for this mark. GIL held; no Python code runs. True if it cannot be
// determined.
bool optimizers_made(PyObject* base);

}  // namespace tprof
