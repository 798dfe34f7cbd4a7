// Functions of ours before functions written in Python: whoever calls one that is hooked calls the hook, which sees the
// arguments, hands the call on and sees how it ended. Nothing of the interpreter's tracing, profiling or monitoring is
// taken, and a hooked function stays the object it was.
//
// By the pointer that each Python function holds to what runs it, for which 3.12 has PyFunction_SetVectorcall. Before,
// the pointer is written where its type says that it stands; there only calls that come out of C are seen (of a method
// that stands behind an operator or a protocol: __call__, __next__), since 3.11 runs others without a look at it.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `count` has a flag in its highest bit, see hooked_count(). Hands on with g_call_function.
using PyHook = PyObject*(PyObject* function, PyObject* const* args, size_t count, PyObject* names);
extern PyHook* g_call_function;
inline size_t hooked_count(size_t count) { return count & ~(size_t(1) << 63); }

// False: this is no plain Python function, it is not run as `untouched` (another Python function) is, or this Python does
// not let. Hooked for good, in effect while switched on; one that `stays` also while the others rest. GIL held.
bool hook_function(PyObject* function, PyObject* untouched, PyHook* hook, bool stays);
enum class Hooks { off, rest, on };
void switch_hooks(Hooks hooks);

bool is_python_function(PyObject* object);

// Calls of a hooked function are not seen between these two.
void pause_hook(PyObject* function);
void resume_hook(PyObject* function);

}  // namespace tprof
