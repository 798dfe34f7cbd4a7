// Functions written in C, as Python code calls them: what they are called. Needs the GIL, and the calling thread between
// enter() and leave().
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `ours`: a function made of the PyMethodDef `definition`. False if this interpreter's objects are not as expected.
bool builtins_prepare(PyObject* ours, const void* definition);

// Whether calling this is the call of a function written in C, as Python's profilers see it.
bool is_builtin(PyObject* callable);

// Name id of "<built-in function len>", or "<built-in method append of list object>"; `first` is the first argument,
// which tells of whom a method is that is not bound yet. Python adds the object's address, which would make a name for
// every object. 0: there was no room.
u32 builtin_id(PyObject* callable, PyObject* first);

}  // namespace tprof
