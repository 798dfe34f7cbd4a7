// What steps need to know of an nn.Module, read from its __dict__ in C: no attribute of it is asked for, so none of the
// program's code runs.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

struct ModuleFacts {
  bool training;        // its mode; true where it does not say
  bool has_parameters;  // of its own or of its children
  bool trains;          // one of them is of a module that was called with gradients in training mode
};

// GIL held. `gradients`: autograd is on. Such a call in training mode makes all parameters of the module ones that train.
ModuleFacts module_facts(PyObject* module, bool gradients);

}  // namespace tprof
