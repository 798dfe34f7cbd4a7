// Calls of Python functions before 3.12, where there is no sys.monitoring: by a profile function in C
// (PyEval_SetProfile), which the interpreter calls at every call and return of the thread that has it.
//
// A thread has one such function. A profiler of the program's own (sys.setprofile, cProfile) keeps its place; ours is
// seen by sys.getprofile() while it is on.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// "" if calls can be seen so, else why not. `mark`: what sys.getprofile() is to say.
const char* profile_prepare(PyObject* mark);

// On all threads that there are.
void profile_switch(bool on);
// On a thread that is new, if it is on elsewhere.
void profile_this_thread();

}  // namespace tprof
