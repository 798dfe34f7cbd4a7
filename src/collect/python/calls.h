// Calls of Python functions, nn.Modules and builtins as records of their threads: PythonCallRecord.
//
// Module calls come from their hook (watch.cpp), all others from sys.monitoring (since 3.12) or from profile.cpp
// (before). Starts and ends of calls are reported; a generator starts when it is resumed and ends when it yields. Calls
// nest on a thread, which therefore has a stack of open calls. It is not the stack of operators, since those may end
// late. The end of a call that started before recording is ignored; calls whose end was not reported end with the call
// around them.
#pragma once
#include <atomic>

#include "collect/interpreter/api.h"

namespace tprof {

// Switches the recording of calls, from any thread. Switching it on starts a new round, in which calls that are still
// open are forgotten.
void calls_record(bool on);

extern std::atomic<bool> g_calls_recorded;
inline bool calls_are_recorded() { return g_calls_recorded.load(std::memory_order_relaxed); }

// The code object of nn.Module.__call__ once it is hooked. It is not recorded like other functions.
extern PyObject* g_module_code;

// A call of a function started (the call of `module`, unless that is nullptr) or ended in any way. GIL held.
void call_starts(PyObject* code, PyObject* module);
void call_ends(PyObject* code);
// The same for functions written in C. `first` is the first argument.
void builtin_starts(PyObject* callable, PyObject* first);
void builtin_ends(PyObject* callable);

// sys.monitoring callbacks. They return None without a new reference: None is immortal in versions with sys.monitoring.
// (code, offset, ...): a function starts or continues; it returns, yields or is left by an exception.
PyObject* watch_call_starts(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_call_ends(PyObject*, PyObject* const* args, PySize count);
// (code, offset, callable, first argument): the same for functions written in C.
PyObject* watch_builtin_starts(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_builtin_ends(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
