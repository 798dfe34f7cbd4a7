// Backward passes as Python announces them (torch.autograd.backward and grad): one call instead of a callback at every
// autograd node. Nodes that run outside of any announced pass count for themselves, as in C++ programs.
#pragma once
#include "base/types.h"

namespace tprof {

// The function begins on this thread. Ends with the same thread's backward_returns(), exception or not.
void backward_begins();
void backward_returns();
// In a forked child: what its parent was in the middle of is not its own.
void backward_forget();

// An autograd node begins.
void backward_node(const void* record_function);

}  // namespace tprof
