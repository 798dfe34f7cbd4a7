#include "collect/native/frame_row.h"

#include "collect/native/eh_frame.h"

namespace tprof {
namespace {

using namespace dwarf;

// Runs programs of DW_CFA_* operations.
class Machine {
 public:
  Machine(const Cie& cie, FrameRow& row) : row_(row), cie_(cie) {}

  // Runs `program` from the address `location` to the row that holds for `pc`. False: not understood.
  bool run(Bytes program, u64 location, u64 pc) {
    initial_ = row_;
    depth_ = 0;
    location_ = location;
    while (program.more() && location_ <= pc)
      if (!operation(program)) return false;
    return program.ok();
  }

 private:
  static constexpr u32 kMaxDepth = 8;

  bool operation(Bytes& p) {
    u8 op = p.get<u8>(), operand = op & ~kPrimary;
    switch (op & kPrimary) {
      case kAdvanceLoc: return advance(operand);
      case kOffset: return save(operand, Saved::at_cfa, factored(p.uleb()));
      case kRestore: return restore(operand);
    }
    u64 number;  // of a register
    switch (op) {
      case kNop: return true;
      case kSetLoc: return location_ = p.pointer(cie_.encoding), true;
      case kAdvanceLoc1: return advance(p.get<u8>());
      case kAdvanceLoc2: return advance(p.get<u16>());
      case kAdvanceLoc4: return advance(p.get<u32>());
      case kOffsetExtended: return number = p.uleb(), save(number, Saved::at_cfa, factored(p.uleb()));
      case kOffsetExtendedSf: return number = p.uleb(), save(number, Saved::at_cfa, factored(u64(p.sleb())));
      case kNegativeOffsetExtended: return number = p.uleb(), save(number, Saved::at_cfa, factored(0 - p.uleb()));
      case kValOffset: return number = p.uleb(), save(number, Saved::is_cfa, factored(p.uleb()));
      case kValOffsetSf: return number = p.uleb(), save(number, Saved::is_cfa, factored(u64(p.sleb())));
      case kRegister: return number = p.uleb(), save(number, Saved::in_register, i64(p.uleb()));
      case kExpression: return number = p.uleb(), save(number, Saved::at_expression, expression(p));
      case kValExpression: return number = p.uleb(), save(number, Saved::is_expression, expression(p));
      case kUndefined: return save(p.uleb(), Saved::undefined, 0);
      case kSameValue: return save(p.uleb(), Saved::same, 0);
      case kRestoreExtended: return restore(p.uleb());
      case kRememberState: return remember();
      case kRestoreState: return recall();
      case kDefCfa: return number = p.uleb(), define_cfa(number, i64(p.uleb()));
      case kDefCfaSf: return number = p.uleb(), define_cfa(number, factored(u64(p.sleb())));
      case kDefCfaRegister: return define_cfa(p.uleb(), row_.cfa_offset);
      case kDefCfaOffset: return row_.cfa_offset = i64(p.uleb()), true;
      case kDefCfaOffsetSf: return row_.cfa_offset = factored(u64(p.sleb())), true;
      case kDefCfaExpression:
        row_.cfa_register = FrameRow::kByExpression;
        row_.cfa_expression = reinterpret_cast<const u8*>(expression(p));
        return true;
      case kGnuArgsSize: return p.uleb(), true;
      default: return false;
    }
  }

  // A damaged table may hold any number, so this wraps. What it leads to is checked before it is read.
  i64 factored(u64 number) const { return i64(number * u64(cie_.data_align)); }

  // Passes over the expression that follows, and says where it is.
  static i64 expression(Bytes& p) {
    const u8* at = p.at();
    p.skip(p.uleb());
    return reinterpret_cast<i64>(at);
  }

  bool advance(u64 units) {
    location_ += units * cie_.code_align;
    return true;
  }

  bool define_cfa(u64 number, i64 offset) {
    if (number >= kReturn) return false;
    row_.cfa_register = u8(number);
    row_.cfa_offset = offset;
    return true;
  }

  // Registers beyond these (of vectors, flags) are not followed.
  bool save(u64 number, Saved how, i64 value) {
    if (number >= FrameRow::kRegisters) return true;
    row_.saved[number] = how;
    row_.value[number] = value;
    return true;
  }

  bool restore(u64 number) {
    return number >= FrameRow::kRegisters || save(number, initial_.saved[number], initial_.value[number]);
  }

  bool remember() {
    if (depth_ == kMaxDepth) return false;
    remembered_[depth_++] = row_;
    return true;
  }

  bool recall() {
    if (!depth_) return false;
    row_ = remembered_[--depth_];
    return true;
  }

  FrameRow& row_;
  const Cie& cie_;
  u64 location_ = 0;
  FrameRow initial_;  // what the program started with
  FrameRow remembered_[kMaxDepth];
  u32 depth_ = 0;
};

}  // namespace

Found find_row(const EhFrame& eh, u64 pc, FrameRow& out) {
  Fde fde;
  if (!find_fde(eh, pc, fde)) return Found::absent;
  out = {};
  Machine machine(fde.cie, out);
  if (!machine.run(fde.cie.program, 0, ~u64(0)) || !machine.run(fde.program, fde.begin, pc)) return Found::unknown;
  out.signal = fde.cie.signal;
  return Found::row;
}

}  // namespace tprof
