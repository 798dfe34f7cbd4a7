// What nearly all rows of call frame information say, in few bytes, for a quick walk up the stack: where the frame of
// the caller is. x86-64.
//
// Only what such a walk needs is kept: the canonical frame address (CFA), in front of which the return address lies,
// and rbp, by which some functions find it.
#pragma once
#include "collect/native/frame_row.h"

namespace tprof {

enum class CfaBy : u8 {
  absent,     // nothing is said of this place
  other,      // something that is not said in these words: for walk_registers() to look at
  outermost,  // there is no caller
  rsp,        // rsp + cfa_offset
  rbp,        // rbp + cfa_offset
  at_rbp,     // the 8 bytes at rbp + cfa_offset (a stack that was aligned anew)
};

enum class RbpBy : u8 {
  kept,  // the caller's is the same
  cfa,   // saved at CFA + rbp_offset
  rbp,   // saved at rbp + rbp_offset
  lost,
};

struct FrameRule {
  u64 pc = 0;
  i32 cfa_offset = 0;
  i32 rbp_offset = 0;
  CfaBy cfa = CfaBy::absent;
  RbpBy rbp = RbpBy::kept;
};

// `pc`: an address inside the instruction that is being executed (for a return address: one less).
FrameRule frame_rule(const EhFrame& eh, u64 pc);

}  // namespace tprof
