#include "collect/native/frame_rule.h"

namespace tprof {
namespace {

using namespace dwarf;

// DW_OP_breg6 offset, followed by DW_OP_deref or not: what compilers write for a stack that was aligned anew.
bool by_rbp(Bytes e, bool deref, i32& offset) {
  if (e.get<u8>() != kOpBreg0 + kRbp) return false;
  i64 wide = e.sleb();
  offset = i32(wide);
  return (!deref || e.get<u8>() == kOpDeref) && e.ok() && !e.more() && offset == wide;
}

bool cfa_of(const EhFrame& eh, const FrameRow& row, FrameRule& out) {
  out.cfa_offset = i32(row.cfa_offset);
  switch (row.cfa_register) {
    case kRsp: out.cfa = CfaBy::rsp; break;
    case kRbp: out.cfa = CfaBy::rbp; break;
    case FrameRow::kByExpression:
      out.cfa = CfaBy::at_rbp;
      return row.cfa_expression && by_rbp(expression_at(eh, row.cfa_expression), true, out.cfa_offset);
    default: return false;
  }
  return out.cfa_offset == row.cfa_offset;
}

bool rbp_of(const EhFrame& eh, const FrameRow& row, FrameRule& out) {
  switch (row.saved[kRbp]) {
    case Saved::same: out.rbp = RbpBy::kept; return true;
    case Saved::undefined: out.rbp = RbpBy::lost; return true;
    case Saved::at_cfa:
      out.rbp = RbpBy::cfa;
      out.rbp_offset = i32(row.value[kRbp]);
      return out.rbp_offset == row.value[kRbp];
    case Saved::at_expression:
      out.rbp = RbpBy::rbp;
      return by_rbp(expression_at(eh, row.expression_of(kRbp)), false, out.rbp_offset);
    default: return false;
  }
}

}  // namespace

FrameRule frame_rule(const EhFrame& eh, u64 pc) {
  FrameRule rule;
  rule.pc = pc;
  FrameRow row;
  Found found = find_row(eh, pc, row);
  if (found == Found::absent) return rule;
  bool usual = found == Found::row && !row.signal && row.saved[kRsp] == Saved::same;
  if (usual && row.saved[kReturn] == Saved::undefined) {
    rule.cfa = CfaBy::outermost;
  } else if (!usual || row.saved[kReturn] != Saved::at_cfa || row.value[kReturn] != -8 || !cfa_of(eh, row, rule) ||
             !rbp_of(eh, row, rule)) {
    rule = {};
    rule.pc = pc;
    rule.cfa = CfaBy::other;
  }
  return rule;
}

}  // namespace tprof
