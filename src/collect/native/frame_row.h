// What the call frame information (.eh_frame) of a mapped object says of one place in its code: how all registers of
// the caller are found. x86-64.
//
// Read in place, within bounds, with no lock and no memory of its own.
#pragma once
#include "collect/native/dwarf.h"

namespace tprof {

struct EhFrame {
  const u8* header = nullptr;  // .eh_frame_hdr, with its search table
  const u8* low = nullptr;     // what may be read: the segment that holds it
  const u8* high = nullptr;
};

enum class Saved : u8 {
  same,           // the caller's is the same
  undefined,      // it is lost; of the return address: there is no caller
  at_cfa,         // saved at CFA + value
  is_cfa,         // is CFA + value
  in_register,    // is in the register `value`
  at_expression,  // saved at the address that an expression gives, to which `value` points
  is_expression,  // is what an expression gives, to which `value` points
};

struct FrameRow {
  static constexpr u32 kRegisters = dwarf::kReturn + 1;
  static constexpr u8 kByExpression = 0xff;

  u8 cfa_register = kByExpression;  // the CFA is this register + cfa_offset
  bool signal = false;              // the frame that the kernel made for a signal handler: its caller was interrupted
  Saved saved[kRegisters] = {};
  i64 cfa_offset = 0;
  const u8* cfa_expression = nullptr;  // or what this expression gives
  i64 value[kRegisters] = {};

  const u8* expression_of(u32 number) const { return reinterpret_cast<const u8*>(value[number]); }
};

enum class Found : u8 {
  absent,   // nothing is said of this place
  unknown,  // something that is not understood
  row,
};

// `pc`: an address inside the instruction that is being executed (for a return address: one less).
Found find_row(const EhFrame& eh, u64 pc, FrameRow& out);

// An expression of a row: its length, then its operations.
inline dwarf::Bytes expression_at(const EhFrame& eh, const u8* at) {
  dwarf::Bytes bytes(at, eh.high);
  return bytes.part(bytes.uleb());
}

}  // namespace tprof
