// The call stacks of a recording as one tree: a frame and its caller get an id when they are first seen together, and
// are written once (StackRecord). Looking one up takes no lock.
//
// The tree is bounded; what no longer fits is kStackLost, which the trace counts.
#pragma once
#include "record/record.h"

namespace tprof {

// Between enter() and leave(), while a recording is open. `parent` 0: an outermost frame. See StackRecord.
u32 stack_node(u32 parent, u32 code, u64 at);

// In a forked child, whose recording holds none of them.
void reset_stacks_in_child();

}  // namespace tprof
