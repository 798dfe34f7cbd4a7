// Whether the program has made an optimizer, so that its backward passes are awaited by one.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `base`: torch.optim.Optimizer. Torch marks the step function of a class at its first instance, which is looked for in
// all classes derived from it. GIL held; no Python code runs. True where it cannot be told.
bool optimizers_made(PyObject* base);

}  // namespace tprof
