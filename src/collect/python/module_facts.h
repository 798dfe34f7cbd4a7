// What the step detector needs to know of an nn.Module. It is read from the module's __dict__ in C and not by attribute
// access, so that none of the program's code runs.
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

struct ModuleFacts {
  bool training;          // its training mode; true if it has none
  const void* parameter;  // the first one of its own or of its children; nullptr: there is none
  bool trains;            // one of them belongs to a module that was called in training mode with gradients on
};

// GIL held. `gradients`: autograd is on. A call with gradients in training mode marks all parameters of the module as
// trained.
ModuleFacts module_facts(PyObject* module, bool gradients);
void module_facts_in_child();  // after fork()

}  // namespace tprof
