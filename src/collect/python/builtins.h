// The names of functions written in C that Python code calls. Needs the GIL, and the calling thread between enter() and
// leave().
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// `ours`: a function that was made from the PyMethodDef `definition`. False if the layout of this interpreter's objects
// is not as expected.
bool builtins_prepare(PyObject* ours, const void* definition);

// Whether `callable` is a function written in C, as Python's profilers define it.
bool is_builtin(PyObject* callable);

// Name id of "<built-in function len>", or "<built-in method append of list object>"; `first` is the first argument,
// which shows the type of an unbound method's object. Python adds the object's address, which is left out, since every
// object would get a name of its own. 0: there was no room.
u32 builtin_id(PyObject* callable, PyObject* first);

}  // namespace tprof
