// Walks a stack by the call frame information of the objects that are mapped: program counters, innermost first.
//
// A program counter is a return address. Of a function that a signal interrupted it is the address of the next
// instruction plus 1: as of every return address, the byte before it belongs to the instruction that is meant.
//
// Two walks: the quick one knows rbp and rsp, which is all that frames of compiled code need at their calls. Where a
// frame needs more, the other one goes on, which knows all registers that can be known (walk_registers).
#pragma once
#include "collect/native/frame_rule.h"
#include "collect/native/registers.h"
#include "collect/native/stack_ranges.h"

namespace tprof {

constexpr u32 kMaxNative = 8192;  // frames of a stack

constexpr u32 kRuleBits = 11;

// What a thread needs for its walks. All zero at the start.
struct WalkTables {
  ThreadStacks stacks;
  u64 found[kMaxNative];            // by the last walk: program counters, innermost first
  FrameRule rules[1 << kRuleBits];  // what was learnt of places in code, by a hash of their addresses
};

struct Walk {
  u32 count;
  bool cut;  // there are more frames outside
};

// The callers of the function whose frame (__builtin_frame_address(0)) is given, those in this library left out. Every
// word that is read lies between the given frame and `end`, the end of the stack that holds it, or, once a signal
// handler's own stack is left, in one of the thread's stacks.
Walk walk_stack(WalkTables& tables, u64 frame, u64 end);

// Goes on from a frame that the quick walk reached: its rsp, its rbp, and its pc, which was found already.
struct Reached {
  u64 sp, bp, pc;
  u32 count;  // program counters that were found
};
Walk walk_registers(WalkTables& tables, const StackRange& memory, const Reached& reached);

}  // namespace tprof
