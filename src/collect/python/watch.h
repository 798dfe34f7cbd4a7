// Turns calls of a few functions of torch into step tokens: nn.Module calls, backward passes, loaders opened, batches
// drawn, gradients cleared, gradient scaler updates, CUDA graphs replayed. The functions are hooked (function_hook.h).
// Where that is impossible before Python 3.12, the bootstrap script wraps them and calls the functions below. While
// modules are recorded, their calls are also passed to calls.h.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// watch_function(kind, function, a function that nobody hooked) -> "yes" if calls of `function` are seen from now on.
PyObject* watch_function(PyObject*, PyObject* const* args, PySize count);
// watch_begin(torch.optim.Optimizer, sys.modules, torch's threading.local of compilations or None)
PyObject* watch_begin(PyObject*, PyObject* const* args, PySize count);
// watch_switch(phase): the hooks are off once profiling has ended; while it rests, only backward passes are seen.
PyObject* watch_switch(PyObject*, PyObject* const* args, PySize count);

// In a forked child, in which the calls that its parent was in may never return.
void watch_in_child();

// Called by the wrappers; args[0] of watch_scaler_updated is the name of the method that needs the scale.
PyObject* watch_zero_grad(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_graph_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_graph_replayed(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_capture_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_capture_ends(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
