// The native stack at a call: walked by the objects' own call frame information, interned frame by frame as
// StackRecords.
//
// Off until a session starts whose options ask for it. What is learnt of a place in code is kept per thread, so a walk
// through known places reads two words of the stack per frame; frames that are where they were at the thread's last
// stack are compared, not looked up. Takes no lock and allocates nothing but each thread's tables, once. Nothing is
// read outside of the thread's own stack and its stack for signal handlers: on another one (a coroutine's) there is no
// native stack.
#pragma once
#include "base/options.h"
#include "collect/recorder/thread.h"

namespace tprof {

extern std::atomic<bool> g_native_on;
inline bool native_on() { return g_native_on.load(std::memory_order_relaxed); }

// What it does for the session.
struct Collector;
extern const Collector kNativeCollector;

// Id of the innermost frame outside of this library. Between enter() and leave(), while a recording is open; `frame`:
// __builtin_frame_address(0) of a function that has call frame information (those of shim/).
u32 native_stack(ThreadBlock* block, const void* frame);

}  // namespace tprof
