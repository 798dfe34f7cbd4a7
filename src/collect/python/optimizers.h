// The program's optimizers: whether it has made any, and which one runs.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `base`: torch.optim.Optimizer. GIL held.
void optimizers_prepare(PyObject* base);

// Whether the program has created an optimizer, so that an update should follow its backward passes. Torch marks the
// step function of a class when its first instance is created; all classes derived from Optimizer are searched for this
// mark. GIL held; no Python code runs. True if it cannot be determined.
bool optimizers_made();

// The same without the GIL, which it takes if this thread runs Python code: for a backward pass that Python does not
// announce. Outside of enter().
bool optimizers_made_by_now();

// Stands for the parameters of the optimizer whose step this thread is in (Turn::optimizer); 0: not known. It takes the
// GIL, which a thread that runs Python code takes next anyway. Outside of enter(): what it allocates may cause a
// garbage collection, and thus run code of the program's.
u64 running_optimizer();

}  // namespace tprof
