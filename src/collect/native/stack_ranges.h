// Where the stacks of the calling thread lie: nothing outside of them is read by a walk.
#pragma once
#include "base/types.h"

namespace tprof {

struct StackRange {
  u64 low = 0, high = 0;
  bool holds(u64 at) const { return at >= low && at < high; }
};

struct ThreadStacks {
  StackRange main;  // the main thread's, on which other threads may run as well (a coroutine that moved)
  StackRange own;   // empty for the main thread
};

// Of the main thread. The kernel lets it grow; what is said to belong to it may not be mapped yet.
StackRange main_stack();

// Of the calling thread, which is not the main thread; empty if it cannot be told.
StackRange thread_stack();

// The stack for signal handlers (sigaltstack) if `at` lies on it; empty otherwise. One system call.
StackRange signal_stack(u64 at);

// Whether the 8 bytes at `at`, a multiple of 8, can be read. One system call.
bool can_read(u64 at);

}  // namespace tprof
