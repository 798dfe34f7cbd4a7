// What the call frame information (.eh_frame) of a mapped object says of one place in its code: where the frame of the
// caller is. x86-64.
//
// Only what a walk up the stack needs is kept: the canonical frame address (CFA), in front of which the return address
// lies, and rbp, by which some functions find it. Read in place, within bounds, with no lock and no memory of its own.
#pragma once
#include "base/types.h"

namespace tprof {

struct EhFrame {
  const u8* header = nullptr;  // .eh_frame_hdr, with its search table
  const u8* low = nullptr;     // what may be read: the segment that holds it
  const u8* high = nullptr;
};

enum class CfaBy : u8 {
  absent,     // nothing is said of this place
  unknown,    // something that is not followed here
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
