#include "collect/native/frame_rule.h"

#include <string.h>

namespace tprof {
namespace {

constexpr u32 kRbp = 6, kRsp = 7, kReturn = 16;  // DWARF's numbers of registers
constexpr u32 kStates = 8;                       // remembered at a time

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
  // A pointer in one of the encodings (DW_EH_PE_*) that are in use for places in code.
  u64 pointer(u8 encoding) {
    u64 base = (encoding & 0x70) == 0x10 ? u64(at_) : 0;
    if ((encoding & 0x70) > 0x10) fail();
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c: return base + get<u64>();
      case 0x02: return base + get<u16>();
      case 0x03: return base + get<u32>();
      case 0x0a: return base + u64(i64(get<int16_t>()));
      case 0x0b: return base + u64(i64(get<i32>()));
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

struct Entry {  // what follows the length of a CIE or FDE
  const u8* begin = nullptr;
  Bytes body{nullptr, nullptr};
};

bool entry_at(const EhFrame& eh, const u8* at, Entry& out) {
  if (at < eh.low || at >= eh.high) return false;
  Bytes bytes(at, eh.high);
  u32 length = bytes.get<u32>();
  if (!length || length == 0xffffffff) return false;  // the end; one of more than 4 GB
  out.begin = bytes.at();
  out.body = bytes.part(length);
  return bytes.ok();
}

// The FDE that begins last at or before `pc`, by the search table (its usual form is the only one in use).
const u8* search(const EhFrame& eh, u64 pc) {
  constexpr u8 kUsual = 0x3b, kCountUsual = 0x03;  // sdata4 relative to the header, udata4
  const u8* h = eh.header;
  if (h < eh.low || eh.high - h < 12 || h[0] != 1 || h[2] != kCountUsual || h[3] != kUsual) return nullptr;
  Bytes bytes(h + 4, eh.high);
  bytes.pointer(h[1]);
  u32 count = bytes.get<u32>();
  const u8* table = bytes.at();
  if (!bytes.ok() || u64(eh.high - table) / 8 < count) return nullptr;
  auto field = [&](u32 i, u32 offset) {
    i32 value;
    memcpy(&value, table + u64(i) * 8 + offset, sizeof value);
    return u64(h) + u64(i64(value));
  };
  u32 low = 0, high = count;  // the first entry behind pc
  while (low < high) {
    u32 middle = low + (high - low) / 2;
    if (field(middle, 0) <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? reinterpret_cast<const u8*>(field(low - 1, 4)) : nullptr;
}

struct Cie {
  u64 code_align = 1;
  i64 data_align = 1;
  u8 encoding = 0;
  bool has_data = false, signal = false;
  Bytes program{nullptr, nullptr};
};

bool read_cie(const EhFrame& eh, const u8* at, Cie& out) {
  Entry entry;
  if (!entry_at(eh, at, entry)) return false;
  Bytes& b = entry.body;
  if (b.get<u32>() != 0) return false;
  u8 version = b.get<u8>();
  if (version != 1 && version != 3) return false;
  const char* augmentation = reinterpret_cast<const char*>(b.at());
  while (b.more() && b.get<u8>()) {
  }
  out.code_align = b.uleb();
  out.data_align = b.sleb();
  u64 return_column = version == 1 ? b.get<u8>() : b.uleb();
  if (!b.ok() || return_column != kReturn) return false;
  out.has_data = *augmentation == 'z';
  if (out.has_data) {
    Bytes data = b.part(b.uleb());
    for (const char* c = augmentation + 1; *c; c++) switch (*c) {
        case 'R': out.encoding = data.get<u8>(); break;
        case 'L': data.get<u8>(); break;
        case 'P': data.pointer(data.get<u8>() & 0x7f); break;
        case 'S': out.signal = true; break;
        default: return false;
      }
    if (!data.ok()) return false;
  } else if (*augmentation) {
    return false;
  }
  out.program = b;
  return b.ok();
}

struct State {
  CfaBy cfa = CfaBy::unknown;
  RbpBy rbp = RbpBy::kept;
  bool outermost = false, odd = false;  // odd: the return address is not in front of the CFA
  i64 cfa_offset = 0, rbp_offset = 0;
};

CfaBy by_register(u64 number) { return number == kRsp ? CfaBy::rsp : number == kRbp ? CfaBy::rbp : CfaBy::unknown; }

// DW_OP_breg6 offset, with DW_OP_deref behind it or not: all that compilers write for what we keep.
bool rbp_expression(Bytes e, bool deref, i64& offset) {
  constexpr u8 kBregRbp = 0x70 + kRbp, kDeref = 0x06;
  if (e.get<u8>() != kBregRbp) return false;
  offset = e.sleb();
  return (!deref || e.get<u8>() == kDeref) && e.ok() && !e.more();
}

void save(State& s, u64 number, i64 offset) {
  if (number == kRbp) {
    s.rbp = RbpBy::cfa;
    s.rbp_offset = offset;
  } else if (number == kReturn) {
    s.odd = offset != -8;
    s.outermost = false;
  }
}

void forget(State& s, u64 number, bool undefined) {
  if (number == kRbp) s.rbp = RbpBy::lost;
  if (number == kReturn) (undefined ? s.outermost : s.odd) = true;
}

void restore(State& s, const State& initial, u64 number) {
  if (number == kRbp) s.rbp = initial.rbp, s.rbp_offset = initial.rbp_offset;
  if (number == kReturn) s.odd = initial.odd, s.outermost = initial.outermost;
}

// Runs a program of DW_CFA_* operations until it speaks of what lies behind `pc`. False: not understood.
bool run(Bytes program, const Cie& cie, u64 location, u64 pc, const State& initial, State& s) {
  State remembered[kStates];
  u32 depth = 0;
  while (program.more()) {
    u8 op = program.get<u8>(), low = op & 0x3f;
    u64 advance = 0;
    switch (op & 0xc0) {
      case 0x40: advance = low; break;
      case 0x80: save(s, low, i64(program.uleb()) * cie.data_align); continue;
      case 0xc0: restore(s, initial, low); continue;
    }
    switch (op & 0xc0 ? 0 : op) {
      case 0x00: break;  // nop
      case 0x01: location = program.pointer(cie.encoding); break;
      case 0x02: advance = program.get<u8>(); break;
      case 0x03: advance = program.get<u16>(); break;
      case 0x04: advance = program.get<u32>(); break;
      case 0x05: {  // offset_extended
        u64 number = program.uleb();
        save(s, number, i64(program.uleb()) * cie.data_align);
        break;
      }
      case 0x06: restore(s, initial, program.uleb()); break;
      case 0x07: forget(s, program.uleb(), true); break;
      case 0x08: {  // same_value
        u64 number = program.uleb();
        if (number == kRbp) s.rbp = RbpBy::kept;
        if (number == kReturn) s.odd = true;
        break;
      }
      case 0x09:  // register
        forget(s, program.uleb(), false);
        program.uleb();
        break;
      case 0x0a:
        if (depth == kStates) return false;
        remembered[depth++] = s;
        break;
      case 0x0b:
        if (!depth) return false;
        s = remembered[--depth];
        break;
      case 0x0c:  // def_cfa
        s.cfa = by_register(program.uleb());
        s.cfa_offset = i64(program.uleb());
        break;
      case 0x0d: s.cfa = by_register(program.uleb()); break;
      case 0x0e: s.cfa_offset = i64(program.uleb()); break;
      case 0x0f:  // def_cfa_expression
        s.cfa = rbp_expression(program.part(program.uleb()), true, s.cfa_offset) ? CfaBy::at_rbp : CfaBy::unknown;
        break;
      case 0x10: {  // expression
        u64 number = program.uleb();
        Bytes expression = program.part(program.uleb());
        forget(s, number, false);
        if (number == kRbp && rbp_expression(expression, false, s.rbp_offset)) s.rbp = RbpBy::rbp;
        break;
      }
      case 0x11: {  // offset_extended_sf
        u64 number = program.uleb();
        save(s, number, program.sleb() * cie.data_align);
        break;
      }
      case 0x12:  // def_cfa_sf
        s.cfa = by_register(program.uleb());
        s.cfa_offset = program.sleb() * cie.data_align;
        break;
      case 0x13: s.cfa_offset = program.sleb() * cie.data_align; break;
      case 0x14:  // val_offset
        forget(s, program.uleb(), false);
        program.uleb();
        break;
      case 0x15:  // val_offset_sf
        forget(s, program.uleb(), false);
        program.sleb();
        break;
      case 0x16:  // val_expression
        forget(s, program.uleb(), false);
        program.skip(program.uleb());
        break;
      case 0x2e: program.uleb(); break;  // GNU_args_size
      default: return false;
    }
    location += advance * cie.code_align;
    if (location > pc) break;
  }
  return program.ok();
}

}  // namespace

FrameRule frame_rule(const EhFrame& eh, u64 pc) {
  FrameRule rule;
  rule.pc = pc;
  const u8* at = eh.header ? search(eh, pc) : nullptr;
  Entry fde;
  if (!at || !entry_at(eh, at, fde)) return rule;
  u32 back = fde.body.get<u32>();
  Cie cie;
  if (!back || !read_cie(eh, fde.begin - back, cie)) return rule;
  u64 begin = fde.body.pointer(cie.encoding);
  u64 bytes = fde.body.pointer(cie.encoding & 0x0f);
  if (!fde.body.ok() || pc < begin || pc - begin >= bytes) return rule;
  if (cie.has_data) fde.body.skip(fde.body.uleb());
  rule.cfa = CfaBy::unknown;
  State none, initial, s;
  if (cie.signal || !run(cie.program, cie, 0, ~u64(0), none, initial)) return rule;
  s = initial;
  if (!run(fde.body, cie, begin, pc, initial, s)) return rule;
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
