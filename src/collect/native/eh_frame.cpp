#include "collect/native/eh_frame.h"

#include <string.h>

namespace tprof {
namespace {

using dwarf::Bytes;

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

// The FDE with the last start at or before `pc`, by the search table. Linkers write it in one form only.
const u8* search(const EhFrame& eh, u64 pc) {
  const u8* h = eh.header;
  if (h < eh.low || eh.high - h < 12 || h[0] != 1 || h[2] != dwarf::kUdata4 ||
      h[3] != (dwarf::kDataRel | dwarf::kSdata4))
    return nullptr;
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
  u32 low = 0, high = count;  // the first entry after pc
  while (low < high) {
    u32 middle = low + (high - low) / 2;
    if (field(middle, 0) <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? reinterpret_cast<const u8*>(field(low - 1, 4)) : nullptr;
}

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
  if (!b.ok() || return_column != dwarf::kReturn) return false;
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

}  // namespace

bool find_fde(const EhFrame& eh, u64 pc, Fde& out) {
  const u8* at = eh.header ? search(eh, pc) : nullptr;
  Entry entry;
  if (!at || !entry_at(eh, at, entry)) return false;
  Bytes& body = entry.body;
  u32 back = body.get<u32>();
  if (!back || !read_cie(eh, entry.begin - back, out.cie)) return false;
  out.begin = body.pointer(out.cie.encoding);
  u64 bytes = body.pointer(out.cie.encoding & dwarf::kFormat);
  out.end = out.begin + bytes;
  if (!body.ok() || pc < out.begin || pc - out.begin >= bytes) return false;
  if (out.cie.has_data) body.skip(body.uleb());
  out.program = body;
  return true;
}

}  // namespace tprof
