// Calls of Python functions before 3.12, where there is no sys.monitoring: by a profile function in C
// (PyEval_SetProfile), which the interpreter calls at every call and return of the thread that has it.
//
// A thread has one such function. A profiler of the program's own (sys.setprofile, cProfile) is not replaced; ours is
// visible to sys.getprofile() while it is on.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// "" if calls can be seen in this way, else the reason why not. `mark`: what sys.getprofile() returns while ours is on,
// a function for sys.setprofile() that calls profile_this_thread().
const char* profile_prepare(PyObject* mark);

// On all existing threads that have none.
void profile_switch(bool on);
// On a new thread, if it is on elsewhere; otherwise none is left on this one.
void profile_this_thread();

}  // namespace tprof
