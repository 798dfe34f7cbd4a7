// Calls of Python functions, nn.Modules and builtins as records of their threads: PythonCallRecord.
//
// Module calls come from their hook (watch.cpp); all others on 3.12+ from sys.monitoring, before from profile.cpp.
// Reported are starts and ends of calls; a generator starts when it is resumed and ends when it yields. They nest on a
// thread, so each has a stack of its open calls, apart from the operators': those may end late. An end whose call began
// before we listened finds nothing; calls that were left without one end with the call around them.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// Whether calls are being recorded now. On starts another round: what is still open is forgotten.
void calls_record(bool on);

extern bool g_calls_recorded;
inline bool calls_are_recorded() { return g_calls_recorded; }

// What runs module calls, once they are hooked: it is not recorded as any other function.
extern PyObject* g_module_code;

// A function's call began, which is that of `module` unless nullptr; ended in whatever way. GIL held.
void call_starts(PyObject* code, PyObject* module);
void call_ends(PyObject* code);
// Likewise of a function written in C; `first` is its first argument.
void builtin_starts(PyObject* callable, PyObject* first);
void builtin_ends(PyObject* callable);

// sys.monitoring callbacks. They return None uncounted: where there is sys.monitoring it lives for ever.
// (code, offset, ...): a function starts or goes on; it returns, yields or is left by an exception.
PyObject* watch_call_starts(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_call_ends(PyObject*, PyObject* const* args, PySize count);
// (code, offset, callable, first argument), of a function written in C.
PyObject* watch_builtin_starts(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_builtin_ends(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
