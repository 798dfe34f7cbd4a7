// Calls of Python functions, nn.Modules and builtins as records of their threads: PythonCallRecord.
//
// On 3.12+ sys.monitoring reports them to the callbacks here (and module calls to watch.cpp, which hands them on); before,
// profile.cpp does. Reported are starts and ends of calls; a generator starts when it is resumed and ends when it yields.
// They nest on a thread, so each has a stack of its open calls, apart from the operators': those may end late. An end
// whose call began before we listened finds nothing; calls that were left without one end with the call around them.
#pragma once
#include "collect/python/api.h"

namespace tprof {

enum CallsRecorded : u32 { kRecordModules = 1, kRecordCalls = 2 };

// What is being recorded now, CallsRecorded. Anything but zero starts another round: what is still open is forgotten.
void calls_record(u32 what);

extern u32 g_calls_recorded;
inline bool modules_are_recorded() { return g_calls_recorded != 0; }
inline bool calls_are_recorded() { return g_calls_recorded & kRecordCalls; }

// A function's call began, which is that of `module` unless nullptr; ended in whatever way. GIL held.
void call_starts(PyObject* code, PyObject* module);
void call_ends(PyObject* code);
// Likewise of a function written in C; `first` is its first argument.
void builtin_starts(PyObject* callable, PyObject* first);
void builtin_ends(PyObject* callable);

// sys.monitoring callbacks, see watch.h: (code, offset, callable, first argument).
PyObject* watch_call(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_builtin_ends(PyObject*, PyObject* const* args, PySize count);
// (code, offset, ...): a generator goes on, or yields.
PyObject* watch_resumes(PyObject*, PyObject* const* args, PySize count);
PyObject* watch_yields(PyObject*, PyObject* const* args, PySize count);

}  // namespace tprof
