// Calls of a few Python functions as step tokens: nn.Module calls, backward passes, batches drawn,
// gradient scaler updates.
//
// On Python 3.12+ sys.monitoring reports starts and returns of just these functions' code objects; before, wrappers
// and nn.Module's global hooks call the same functions. All of them run with the GIL held and return None.
#pragma once
#include "collect/python/api.h"

namespace tprof {

// watch_code(kind, code) -> True if `code` will be recognised by the two below.
PyObject* watch_code(PyObject*, PyObject* const* args, PySize count);
// sys.monitoring callbacks: (code, offset), (code, offset, value), (code, offset, exception). While calls are recorded
// they come for all functions. They return None uncounted: where there is sys.monitoring it lives for ever.
PyObject* watch_code_starts(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_code_returns(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_code_unwinds(PyObject*, PyObject* const* args, PySize count);

// Hooks and wrappers; args[0] is the module, the loader iterator or the scaler.
PyObject* watch_module_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_module_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_begins(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_backward_ends(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_batch_drawn(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
