// How many parameters a module has, and their bytes, read from the C++ objects of its tensors. No method of a tensor or
// a module is called: torch.jit.trace, a mode or a subclass would see the call and might change its behaviour.
#pragma once
#include "collect/interpreter/api.h"
#include "record/record.h"

namespace tprof {

// torch.nn.Parameter; others (uninitialised, distributed, fake) are not counted.
void parameters_prepare(PyObject* parameter_type);

// learn_parameter(parameter, address of its C++ object, elements, bytes): learns where a Python tensor holds the
// address of its C++ object. Called several times before the program's code runs; after a contradiction parameters are
// not counted.
PyObject* learn_parameter(PyObject*, PyObject* const* args, PySize count);

// Counts the parameters of the module and those below it, shared ones once. kUnknown if one of them cannot be counted.
void count_parameters(PyObject* module, ModuleRecord& record);

}  // namespace tprof
