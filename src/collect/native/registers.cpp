#include "collect/native/registers.h"

namespace tprof {
namespace {

using namespace dwarf;

constexpr u32 kMaxOperations = 256;

// The stack on which expressions work. Taking from an empty one gives 0, and ok() is false.
class Operands {
 public:
  bool ok() const { return !bad_; }
  void push(u64 value) {
    if (count_ < kMax)
      at_[count_++] = value;
    else
      bad_ = true;
  }
  u64 pop() { return count_ ? at_[--count_] : (bad_ = true, 0); }
  u64 top(u32 below = 0) {
    if (count_ <= below) return bad_ = true, 0;
    return at_[count_ - 1 - below];
  }

 private:
  static constexpr u32 kMax = 16;
  u64 at_[kMax];
  u32 count_ = 0;
  bool bad_ = false;
};

// Operations of two operands.
bool binary(u8 op, u64 x, u64 y, u64& out) {
  switch (op) {
    case kOpAnd: return out = x & y, true;
    case kOpMinus: return out = x - y, true;
    case kOpMul: return out = x * y, true;
    case kOpOr: return out = x | y, true;
    case kOpPlus: return out = x + y, true;
    case kOpShl: return out = y < 64 ? x << y : 0, true;
    case kOpShr: return out = y < 64 ? x >> y : 0, true;
    case kOpShra: return out = u64(i64(x) >> (y < 64 ? y : 63)), true;
    case kOpXor: return out = x ^ y, true;
    case kOpEq: return out = x == y, true;
    case kOpGe: return out = i64(x) >= i64(y), true;
    case kOpGt: return out = i64(x) > i64(y), true;
    case kOpLe: return out = i64(x) <= i64(y), true;
    case kOpLt: return out = i64(x) < i64(y), true;
    case kOpNe: return out = x != y, true;
    default: return false;
  }
}

// Operations that push what stands in the expression.
bool constant(u8 op, Bytes& e, u64& out) {
  if (op >= kOpLit0 && op < kOpLit0 + 32) return out = op - kOpLit0, true;
  switch (op) {
    case kOpConst1u: return out = e.get<u8>(), true;
    case kOpConst1s: return out = u64(i64(e.get<int8_t>())), true;
    case kOpConst2u: return out = e.get<u16>(), true;
    case kOpConst2s: return out = u64(i64(e.get<int16_t>())), true;
    case kOpConst4u: return out = e.get<u32>(), true;
    case kOpConst4s: return out = u64(i64(e.get<i32>())), true;
    case kOpConst8u:
    case kOpConst8s: return out = e.get<u64>(), true;
    case kOpConstu: return out = e.uleb(), true;
    case kOpConsts: return out = u64(e.sleb()), true;
    default: return false;
  }
}

bool saved_register(const EhFrame& eh, const FrameRow& row, u32 number, u64 cfa, const Registers& from,
                    const StackMemory& memory, u64& out) {
  i64 value = row.value[number];
  switch (row.saved[number]) {
    case Saved::same: return from.copy(number, out);
    case Saved::undefined: return false;
    case Saved::at_cfa: return memory.load(cfa + u64(value), out);
    case Saved::is_cfa: return out = cfa + u64(value), true;
    case Saved::in_register: return from.copy(u64(value), out);
    case Saved::at_expression:
      return evaluate(expression_at(eh, row.expression_of(number)), from, memory, &cfa, out) && memory.load(out, out);
    case Saved::is_expression: return evaluate(expression_at(eh, row.expression_of(number)), from, memory, &cfa, out);
  }
  return false;
}

}  // namespace

bool evaluate(Bytes e, const Registers& registers, const StackMemory& memory, const u64* pushed, u64& out) {
  Operands stack;
  if (pushed) stack.push(*pushed);
  for (u32 n = 0; e.more() && stack.ok(); n++) {
    if (n == kMaxOperations) return false;
    u8 op = e.get<u8>();
    u64 value = 0;
    if (constant(op, e, value)) {
      stack.push(value);
    } else if (op >= kOpBreg0 && op < kOpBreg0 + 32) {
      if (!registers.copy(op - kOpBreg0, value)) return false;
      stack.push(value + u64(e.sleb()));
    } else {
      switch (op) {
        case kOpDeref:
          if (!memory.load(stack.pop(), value)) return false;
          stack.push(value);
          break;
        case kOpDup: stack.push(stack.top()); break;
        case kOpDrop: stack.pop(); break;
        case kOpOver: stack.push(stack.top(1)); break;
        case kOpSwap: {
          u64 last = stack.pop(), before = stack.pop();
          stack.push(last);
          stack.push(before);
          break;
        }
        case kOpNeg: stack.push(0 - stack.pop()); break;
        case kOpNot: stack.push(~stack.pop()); break;
        case kOpPlusUconst: stack.push(stack.pop() + e.uleb()); break;
        case kOpNop: break;
        default: {
          u64 y = stack.pop(), x = stack.pop();
          if (!binary(op, x, y, value)) return false;
          stack.push(value);
        }
      }
    }
  }
  out = stack.pop();
  return e.ok() && stack.ok();
}

bool apply_row(const EhFrame& eh, const FrameRow& row, const Registers& from, const StackMemory& memory,
               Registers& out) {
  u64 cfa;
  if (row.cfa_register != FrameRow::kByExpression) {
    if (!from.copy(row.cfa_register, cfa)) return false;
    cfa += u64(row.cfa_offset);
  } else if (!row.cfa_expression || !evaluate(expression_at(eh, row.cfa_expression), from, memory, nullptr, cfa)) {
    return false;
  }
  out = {};
  for (u32 i = 0; i < FrameRow::kRegisters; i++)
    if (u64 value; saved_register(eh, row, i, cfa, from, memory, value)) out.set(i, value);
  if (row.saved[kRsp] == Saved::same) out.set(kRsp, cfa);
  return true;
}

}  // namespace tprof
