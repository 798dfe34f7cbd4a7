// Calls of a few functions of torch's as step tokens: nn.Module calls, backward passes, loaders opened, batches drawn,
// gradients cleared, gradient scaler updates. Each is hooked (function_hook.h); those that cannot be before Python 3.12 are
// wrapped by the bootstrap script, which calls the functions below. While modules are recorded, their calls are handed on to
// calls.h.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// watch(kind, function, a function that nobody hooked) -> whether calls of `function` are seen from now on.
PyObject* watch_function(PyObject*, PyObject* const* args, PySize count);
// begin(torch.optim.Optimizer, sys.modules, torch's threading.local of compilations or None)
PyObject* watch_begin(PyObject*, PyObject* const* args, PySize count);
// switch(phase): they are off once it has ended; while it rests, backward passes are still seen.
PyObject* watch_switch(PyObject*, PyObject* const* args, PySize count);

// In a forked child: the call that its parent was in may never return.
void watch_in_child();

// From wrappers; args[0] is the scaler.
PyObject* watch_zero_grad(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
