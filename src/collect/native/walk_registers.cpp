// The walk that follows all registers: through signal handlers to what they interrupted, which may be at any
// instruction, through stubs of the linker, and whatever else call frame information can say.
#include <errno.h>

#include <initializer_list>

#include "collect/native/images.h"
#include "collect/native/own_code.h"
#include "collect/native/walk.h"

namespace tprof {
namespace {

using dwarf::kRbp, dwarf::kReturn, dwarf::kRsp;

// What the innermost function may keep below its stack pointer.
constexpr u64 kRedZone = 128;

// The next frame may be anywhere on the thread's stacks: a handler ran on a stack of its own, or registers come from a
// jmp_buf. False: it is on none of them.
bool move_to(u64 sp, const ThreadStacks& stacks, StackMemory& memory) {
  if (memory.range.holds(sp)) return true;
  for (const StackRange& stack : {stacks.own, stacks.main}) {
    if (!stack.holds(sp)) continue;
    u64 low = (sp - kRedZone) & ~u64(7);
    if (low < stack.low || !can_read(low)) low = sp & ~u64(7);
    if (!can_read(low)) return false;  // the stack has overflowed
    memory.range = {low, stack.high};
    return true;
  }
  return false;
}

// Code of which nothing is said, at a call: it may keep frame pointers, if what they lead to is known again.
bool by_frame_pointer(const Registers& from, const StackMemory& memory, Registers& out) {
  u64 bp, saved, pc;
  if (!from.copy(kRbp, bp) || !memory.load(bp, saved) || !memory.load(bp + 8, pc)) return false;
  FrameRow row;
  if (find_row(eh_frame_of(pc - 1), pc - 1, row) == Found::absent) return false;
  out = {};
  out.set(kRbp, saved);
  out.set(kRsp, bp + 16);
  out.set(kReturn, pc);
  return true;
}

// The caller of the frame that `r` describes, whose instruction is at `at`. `signal`: it was interrupted there.
enum class Step : u8 { done, outermost, refused };
Step step(u64 at, bool interrupted, const ThreadStacks& stacks, Registers& r, StackMemory& memory, bool& signal) {
  EhFrame eh = eh_frame_of(at);
  FrameRow row;
  Registers caller;
  switch (find_row(eh, at, row)) {
    case Found::unknown: return Step::refused;
    case Found::absent:
      if (interrupted) return Step::refused;
      if (r.has(kRbp) && !r.value[kRbp]) return Step::outermost;
      if (!by_frame_pointer(r, memory, caller)) return Step::refused;
      break;
    case Found::row:
      if (row.saved[kReturn] == Saved::undefined) return Step::outermost;
      if (!apply_row(eh, row, r, memory, caller) || !caller.has(kReturn) || !caller.has(kRsp)) return Step::refused;
  }
  signal = row.signal;
  bool moves = row.saved[kRsp] != Saved::same;
  if (moves ? !move_to(caller.value[kRsp], stacks, memory) : caller.value[kRsp] <= r.value[kRsp]) return Step::refused;
  r = caller;
  return Step::done;
}

Walk walk_on(WalkTables& tables, const StackRange& range, const Reached& reached) {
  StackMemory memory{range};
  Registers r;
  r.set(kRsp, reached.sp);
  r.set(kRbp, reached.bp);
  r.set(kReturn, reached.pc);
  bool interrupted = false;
  for (u32 count = reached.count;;) {
    bool signal = false;
    switch (step(r.value[kReturn] - !interrupted, interrupted, tables.stacks, r, memory, signal)) {
      case Step::outermost: return {count, false};
      case Step::refused: return {count, true};
      case Step::done: break;
    }
    interrupted = signal;
    u64 pc = r.value[kReturn];
    if (!pc) return {count, interrupted};  // interrupted at 0: a call of a null pointer
    if (count == kMaxNative || pc & kNoAddress) return {count, true};
    if (!is_ours(pc)) tables.found[count++] = pc + interrupted;
  }
}

}  // namespace

__attribute__((no_sanitize("address"))) Walk walk_registers(WalkTables& tables, const StackRange& memory,
                                                            const Reached& reached) {
  int saved = errno;
  Walk walked = walk_on(tables, memory, reached);
  errno = saved;
  return walked;
}

}  // namespace tprof
