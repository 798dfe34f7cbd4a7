// nn.Module objects: each gets an id, a number within its class and a ModuleRecord when its first call is recorded.
//
// An object is known by its address and a weak reference: one that died frees its address for another, which is then
// another module. A strong reference would keep the parameters of models alive that the program has thrown away.
// Needs the GIL, and the calling thread between enter() and leave().
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// 0: there was no room.
u32 module_id(PyObject* module);

}  // namespace tprof
