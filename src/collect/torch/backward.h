// Backward passes as Python announces them (torch.autograd.backward and grad): one call instead of a callback at every
// autograd node. Nodes that run outside of any announced pass count for themselves, as in C++ programs.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

// The thread that announced the pass that is running, 0: none is. One pass at a time, since nodes may run on threads of
// torch's; a call from inside it (checkpointing, a double backward) is part of it.
extern std::atomic<u32> g_backward_thread;
inline bool backward_is_announced() { return g_backward_thread.load(std::memory_order_relaxed) != 0; }

// The function begins on this thread. Ends with the same thread's backward_returns(), exception or not.
void backward_begins();
void backward_returns();
// In a forked child: what its parent was in the middle of is not its own.
void backward_forget();

// An autograd node begins.
void backward_node(const void* record_function);

}  // namespace tprof
