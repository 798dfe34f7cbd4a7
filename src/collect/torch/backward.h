// Backward passes as Python announces them (torch.autograd.backward and grad): one call instead of a callback at every
// autograd node. Nodes that run outside of an announced pass are reported one by one, as in C++ programs.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

// The thread that announced the running pass, 0: none runs. There is one pass at a time, since its nodes may run on
// threads of torch. A call from inside a pass (checkpointing, a double backward) is part of it.
extern std::atomic<u32> g_backward_thread;
inline bool backward_is_announced() { return g_backward_thread.load(std::memory_order_relaxed) != 0; }

// The function starts on this thread. `creates_graph`: its argument of that name. The same thread calls
// backward_returns() at its end, also after an exception.
void backward_begins(bool creates_graph);
void backward_returns();
// In a forked child, in which the parent's pass does not run.
void backward_forget();

// Whether the program has made an optimizer, if Python knows; outside of enter().
extern std::atomic<bool (*)()> g_optimizers_made;
// An autograd node is about to start. If it is of the first pass, and nobody announced that, optimizers are looked for:
// Python before 3.12 does not show calls of torch.autograd.grad. Outside of enter().
void backward_node_comes();
// An autograd node starts.
void backward_node(const void* record_function);

}  // namespace tprof
