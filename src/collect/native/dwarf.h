// The words of DWARF's call frame information that are needed here (DWARF 5, 6.4.2 and 7.24; .eh_frame: LSB, 10.5 and
// 10.6), and a reader of its bytes.
#pragma once
#include <string.h>

#include "base/types.h"

namespace tprof::dwarf {

// Registers of x86-64.
constexpr u32 kRbp = 6, kRsp = 7, kReturn = 16;

// DW_EH_PE_*: how a pointer is stored (the low four bits) and what it is relative to.
enum Encoding : u8 {
  kAbsPtr = 0x00,
  kUdata2 = 0x02,
  kUdata4 = 0x03,
  kUdata8 = 0x04,
  kSdata2 = 0x0a,
  kSdata4 = 0x0b,
  kSdata8 = 0x0c,
  kFormat = 0x0f,
  kPcRel = 0x10,
  kDataRel = 0x30,
  kRelation = 0x70,
};

// DW_CFA_*. The first three hold an operand in their low six bits.
enum CfaOp : u8 {
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kPrimary = 0xc0,  // the bits that tell these three apart
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kNegativeOffsetExtended = 0x2f,  // GNU's
};

// DW_OP_*: those that an expression of call frame information may hold.
enum Op : u8 {
  kOpDeref = 0x06,
  kOpConst1u = 0x08,
  kOpConst1s = 0x09,
  kOpConst2u = 0x0a,
  kOpConst2s = 0x0b,
  kOpConst4u = 0x0c,
  kOpConst4s = 0x0d,
  kOpConst8u = 0x0e,
  kOpConst8s = 0x0f,
  kOpConstu = 0x10,
  kOpConsts = 0x11,
  kOpDup = 0x12,
  kOpDrop = 0x13,
  kOpOver = 0x14,
  kOpSwap = 0x16,
  kOpAnd = 0x1a,
  kOpMinus = 0x1c,
  kOpMul = 0x1e,
  kOpNeg = 0x1f,
  kOpNot = 0x20,
  kOpOr = 0x21,
  kOpPlus = 0x22,
  kOpPlusUconst = 0x23,
  kOpShl = 0x24,
  kOpShr = 0x25,
  kOpShra = 0x26,
  kOpXor = 0x27,
  kOpEq = 0x29,
  kOpGe = 0x2a,
  kOpGt = 0x2b,
  kOpLe = 0x2c,
  kOpLt = 0x2d,
  kOpNe = 0x2e,
  kOpLit0 = 0x30,   // and the 31 after it
  kOpBreg0 = 0x70,  // and the 31 after it
  kOpNop = 0x96,
};

// Bytes that are read one after the other. Past the end everything is 0, and ok() false.
class Bytes {
 public:
  Bytes(const u8* at, const u8* end) : at_(at), end_(at <= end ? end : at) {}
  bool ok() const { return !bad_; }
  bool more() const { return !bad_ && at_ < end_; }
  const u8* at() const { return at_; }

  template <class T>
  T get() {
    T value{};
    if (size_t(end_ - at_) < sizeof value) return fail(), value;
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  u64 uleb() {
    u64 value = 0;
    for (u32 shift = 0;; shift += 7) {
      u8 byte = get<u8>();
      if (shift < 64) value |= u64(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
  }
  i64 sleb() {
    u64 value = 0;
    for (u32 shift = 0;;) {
      u8 byte = get<u8>();
      if (shift < 64) value |= u64(byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80) continue;
      if (shift < 64 && (byte & 0x40)) value |= ~u64(0) << shift;
      return i64(value);
    }
  }
  void skip(u64 bytes) {
    if (u64(end_ - at_) < bytes) return fail();
    at_ += bytes;
  }
  Bytes part(u64 bytes) {
    const u8* from = at_;
    skip(bytes);
    return {from, at_};
  }
  // A pointer in one of the encodings that are in use for addresses of code.
  u64 pointer(u8 encoding) {
    u64 base = (encoding & kRelation) == kPcRel ? u64(at_) : 0;
    if ((encoding & kRelation) > kPcRel) fail();
    switch (encoding & kFormat) {
      case kAbsPtr:
      case kUdata8:
      case kSdata8: return base + get<u64>();
      case kUdata2: return base + get<u16>();
      case kUdata4: return base + get<u32>();
      case kSdata2: return base + u64(i64(get<int16_t>()));
      case kSdata4: return base + u64(i64(get<i32>()));
      default: return fail(), 0;
    }
  }

 private:
  void fail() {
    bad_ = true;
    at_ = end_;
  }
  const u8* at_;
  const u8* end_;
  bool bad_ = false;
};

}  // namespace tprof::dwarf
