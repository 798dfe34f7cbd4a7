// nn.Module objects: each gets an id, a number within its class and a ModuleRecord when its first call is recorded.
//
// An object is identified by its address and a weak reference, since the address of a freed object may be reused for
// another module. A strong reference would keep alive the parameters of models that the program has discarded. Needs
// the GIL, and the calling thread between enter() and leave().
#pragma once
#include "collect/interpreter/api.h"

namespace tprof {

// 0: there was no room.
u32 module_id(PyObject* module);

}  // namespace tprof
