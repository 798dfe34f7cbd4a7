#include "collect/native/frame_rule.h"

#include "collect/native/eh_frame.h"

namespace tprof {
namespace {

using namespace dwarf;

// What the operations have said so far of the registers that are kept.
struct State {
  CfaBy cfa = CfaBy::unknown;
  RbpBy rbp = RbpBy::kept;
  bool outermost = false;
  bool odd = false;  // the return address is not in front of the CFA
  i64 cfa_offset = 0, rbp_offset = 0;
};

CfaBy by_register(u64 number) { return number == kRsp ? CfaBy::rsp : number == kRbp ? CfaBy::rbp : CfaBy::unknown; }

// DW_OP_breg6 offset, followed by DW_OP_deref or not: all that compilers write for the registers that are kept.
bool rbp_expression(Bytes e, bool deref, i64& offset) {
  if (e.get<u8>() != kOpBreg0 + kRbp) return false;
  offset = e.sleb();
  return (!deref || e.get<u8>() == kOpDeref) && e.ok() && !e.more();
}

// Runs programs of DW_CFA_* operations.
class Machine {
 public:
  explicit Machine(const Cie& cie) : cie_(cie) {}

  // Runs `program` from the address `location` to the row that holds for `pc`. False: not understood.
  bool run(Bytes program, u64 location, u64 pc) {
    initial_ = state;
    depth_ = 0;
    location_ = location;
    while (program.more() && location_ <= pc)
      if (!operation(program)) return false;
    return program.ok();
  }

  State state;

 private:
  static constexpr u32 kMaxDepth = 8;

  bool operation(Bytes& p) {
    u8 op = p.get<u8>(), operand = op & ~kPrimary;
    switch (op & kPrimary) {
      case kAdvanceLoc: return advance(operand);
      case kOffset: return save(operand, i64(p.uleb()) * cie_.data_align);
      case kRestore: return restore(operand);
    }
    u64 number;  // of a register
    switch (op) {
      case kNop: return true;
      case kSetLoc: return location_ = p.pointer(cie_.encoding), true;
      case kAdvanceLoc1: return advance(p.get<u8>());
      case kAdvanceLoc2: return advance(p.get<u16>());
      case kAdvanceLoc4: return advance(p.get<u32>());
      case kOffsetExtended: return number = p.uleb(), save(number, i64(p.uleb()) * cie_.data_align);
      case kOffsetExtendedSf: return number = p.uleb(), save(number, p.sleb() * cie_.data_align);
      case kRestoreExtended: return restore(p.uleb());
      case kUndefined: return undefine(p.uleb());
      case kSameValue: return same_value(p.uleb());
      case kRememberState: return remember();
      case kRestoreState: return recall();
      case kDefCfa: return number = p.uleb(), define_cfa(number, i64(p.uleb()));
      case kDefCfaSf: return number = p.uleb(), define_cfa(number, p.sleb() * cie_.data_align);
      case kDefCfaRegister: return define_cfa(p.uleb(), state.cfa_offset);
      case kDefCfaOffset: return state.cfa_offset = i64(p.uleb()), true;
      case kDefCfaOffsetSf: return state.cfa_offset = p.sleb() * cie_.data_align, true;
      case kDefCfaExpression: return cfa_expression(p.part(p.uleb()));
      case kExpression: return number = p.uleb(), expression(number, p.part(p.uleb()));
      case kRegister:
      case kValOffset: return lose(p.uleb()), p.uleb(), true;
      case kValOffsetSf: return lose(p.uleb()), p.sleb(), true;
      case kValExpression: return lose(p.uleb()), p.skip(p.uleb()), true;
      case kGnuArgsSize: return p.uleb(), true;
      default: return false;
    }
  }

  bool advance(u64 units) {
    location_ += units * cie_.code_align;
    return true;
  }

  bool define_cfa(u64 number, i64 offset) {
    state.cfa = by_register(number);
    state.cfa_offset = offset;
    return true;
  }

  bool cfa_expression(Bytes e) {
    state.cfa = rbp_expression(e, true, state.cfa_offset) ? CfaBy::at_rbp : CfaBy::unknown;
    return true;
  }

  bool expression(u64 number, Bytes e) {
    lose(number);
    if (number == kRbp && rbp_expression(e, false, state.rbp_offset)) state.rbp = RbpBy::rbp;
    return true;
  }

  // The register is saved at the CFA plus `offset`.
  bool save(u64 number, i64 offset) {
    if (number == kRbp) {
      state.rbp = RbpBy::cfa;
      state.rbp_offset = offset;
    } else if (number == kReturn) {
      state.odd = offset != -8;
      state.outermost = false;
    }
    return true;
  }

  bool restore(u64 number) {
    if (number == kRbp) {
      state.rbp = initial_.rbp;
      state.rbp_offset = initial_.rbp_offset;
    } else if (number == kReturn) {
      state.odd = initial_.odd;
      state.outermost = initial_.outermost;
    }
    return true;
  }

  bool same_value(u64 number) {
    if (number == kRbp) state.rbp = RbpBy::kept;
    if (number == kReturn) state.odd = true;
    return true;
  }

  bool undefine(u64 number) {
    if (number == kRbp) state.rbp = RbpBy::lost;
    if (number == kReturn) state.outermost = true;
    return true;
  }

  // It is saved in a way that is not followed.
  void lose(u64 number) {
    if (number == kRbp) state.rbp = RbpBy::lost;
    if (number == kReturn) state.odd = true;
  }

  bool remember() {
    if (depth_ == kMaxDepth) return false;
    remembered_[depth_++] = state;
    return true;
  }

  bool recall() {
    if (!depth_) return false;
    state = remembered_[--depth_];
    return true;
  }

  const Cie& cie_;
  u64 location_ = 0;
  State initial_;  // what the program started with
  State remembered_[kMaxDepth];
  u32 depth_ = 0;
};

}  // namespace

FrameRule frame_rule(const EhFrame& eh, u64 pc) {
  FrameRule rule;
  rule.pc = pc;
  Fde fde;
  if (!find_fde(eh, pc, fde)) return rule;
  rule.cfa = CfaBy::unknown;
  if (fde.cie.signal) return rule;
  Machine machine(fde.cie);
  if (!machine.run(fde.cie.program, 0, ~u64(0)) || !machine.run(fde.program, fde.begin, pc)) return rule;
  const State& s = machine.state;
  if (s.outermost) {
    rule.cfa = CfaBy::outermost;
  } else if (!s.odd && s.cfa_offset == i32(s.cfa_offset) && s.rbp_offset == i32(s.rbp_offset)) {
    rule.cfa = s.cfa;
    rule.cfa_offset = i32(s.cfa_offset);
    rule.rbp = s.rbp;
    rule.rbp_offset = i32(s.rbp_offset);
  }
  return rule;
}

}  // namespace tprof
