// The Python call stack of the calling thread, as an id of the recording: what an operator, an allocation or a CUDA call
// carries with --with-stack.
//
// A walk along the thread's own frames, without the GIL (frame_walk.h); what has not changed since the thread's last walk
// keeps its ids, the rest is looked up in the tree of stacks.
#pragma once
#include "collect/recorder/thread.h"

namespace tprof {

// Set once the layout of frames is known, cleared when the interpreter is about to end.
extern std::atomic<bool> g_python_stacks;

// The id of the innermost frame; 0: no Python is running on this thread, or stacks are off. Between enter() and leave(),
// while a recording is open. `range`: the one opened last, if the stack is for its begin.
u32 walk_python_stack(ThreadBlock* block, const void* range);
inline u32 python_stack(ThreadBlock* block, const void* range = nullptr) {
  return __builtin_expect(g_python_stacks.load(std::memory_order_relaxed), 0) ? walk_python_stack(block, range) : 0;
}

// Whether anything is to carry one.
bool python_stacks_wanted();
// From here on, if the layout was proven; notes it. GIL held.
void python_stacks_start();
// Says in the recording whether stacks are on, if they are wanted.
void python_stacks_note();
// No later walk touches the interpreter; waits for those that are under way. When it ends, GIL held.
void python_stacks_stop();

}  // namespace tprof
