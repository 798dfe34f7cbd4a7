// The Python call stack of the calling thread, as an id of the recording: what an operator, an allocation or a CUDA
// call carries with --with-stack.
//
// It is found by a walk along the thread's own frames, without the GIL (frame_walk.h). Frames that have not changed
// since the thread's last walk keep their ids; the others are looked up in the tree of stacks.
#pragma once
#include "collect/recorder/thread.h"

namespace tprof {

// Set once the layout of frames is known, cleared when the interpreter is about to end.
extern std::atomic<bool> g_python_stacks;

// The id of the innermost frame; 0: no Python is running on this thread, or stacks are off. Between enter() and
// leave(), while a recording is open. `range`: the range that was opened last, if the stack is for its start.
u32 walk_python_stack(ThreadBlock* block, const void* range);
inline u32 python_stack(ThreadBlock* block, const void* range = nullptr) {
  return __builtin_expect(g_python_stacks.load(std::memory_order_relaxed), 0) ? walk_python_stack(block, range) : 0;
}

// Whether any event carries a Python stack.
bool python_stacks_wanted();
// Switches stacks on if the layout was proven, and notes in the recording whether it was. GIL held.
void python_stacks_start();
// Notes in the recording whether stacks are on, if they are wanted.
void python_stacks_note();
// Switches stacks off and waits for walks that are under way. Call it when the interpreter ends, GIL held.
void python_stacks_stop();

}  // namespace tprof
