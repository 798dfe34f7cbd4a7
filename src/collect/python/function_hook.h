// Hooks for functions written in Python: a call of a hooked function calls the hook, which gets the arguments, passes
// the call on and gets the result. This uses none of the interpreter's tracing, profiling or monitoring, and a hooked
// function stays the same object.
//
// A hook replaces the pointer in each Python function to the C function that runs it. Python 3.12 and later have
// PyFunction_SetVectorcall for this. Before, the pointer is written at the offset that the function's type states; then
// only calls from C are seen (methods behind an operator or a protocol: __call__, __next__), because Python 3.11 runs
// other calls without reading the pointer.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `count` has a flag in its highest bit, see hooked_count(). A hook passes the call on with g_call_function.
using PyHook = PyObject*(PyObject* function, PyObject* const* args, size_t count, PyObject* names);
extern PyHook* g_call_function;
inline size_t hooked_count(size_t count) { return count & ~(size_t(1) << 63); }

// The function stays hooked; its hook takes effect while hooks are on and, if it `stays`, while the others rest. False:
// it is not a plain Python function, it is not run like `untouched` (another Python function), or this Python does not
// allow it. GIL held.
bool hook_function(PyObject* function, PyObject* untouched, PyHook* hook, bool stays);
enum class Hooks { off, rest, on };
void switch_hooks(Hooks hooks);

bool is_python_function(PyObject* object);

// Between these two, calls of a hooked function do not call the hook.
void pause_hook(PyObject* function);
void resume_hook(PyObject* function);

}  // namespace tprof
