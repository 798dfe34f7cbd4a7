// The registers of one frame of a stack, and what expressions and rows of call frame information make of them.
#pragma once
#include "collect/native/frame_row.h"
#include "collect/native/stack_ranges.h"

namespace tprof {

// Those that call frame information speaks of: 0 to 15, and the program counter as number 16.
struct Registers {
  u64 value[FrameRow::kRegisters] = {};
  u32 known = 0;  // a bit for each

  bool has(u64 number) const { return number < FrameRow::kRegisters && (known >> number & 1); }
  void set(u32 number, u64 to) {
    value[number] = to;
    known |= 1u << number;
  }
  bool copy(u64 number, u64& out) const { return has(number) && (out = value[number], true); }
};

// The part of a stack that may be read.
struct StackMemory {
  StackRange range;
  bool holds(u64 at) const { return range.holds(at) && at <= range.high - 8 && at % 8 == 0; }
  bool load(u64 at, u64& out) const { return holds(at) && (out = *reinterpret_cast<const u64*>(at), true); }
};

// What an expression gives (DWARF 5, 2.5); `pushed`: what lies on its stack at the start, if anything. False: it is not
// understood, or it needs what is not known.
bool evaluate(dwarf::Bytes expression, const Registers& registers, const StackMemory& memory, const u64* pushed,
              u64& out);

// The registers of the caller; those that are lost or lie outside of `memory` are not known there. False: no CFA.
bool apply_row(const EhFrame& eh, const FrameRow& row, const Registers& from, const StackMemory& memory,
               Registers& out);

}  // namespace tprof
