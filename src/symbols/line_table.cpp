#include "symbols/line_table.h"

#include <optional>

namespace tprof {
namespace {

constexpr u16 kRanges = 3 << 8 | 10, kLocations = 3 << 8 | 11;  // versions of Python that changed the format

u8 byte_at(const std::string& table, size_t i) { return u8(table[i]); }

// 3.8, 3.9 (co_lnotab): pairs (bytes of code, signed number of lines), starting from the first line; a line applies
// until the bytes of the next pair are passed.
i32 line_by_pairs(const CodeInfo& code, u64 offset) {
  i64 line = code.first_line;
  u64 at = 0;
  for (size_t i = 0; i + 1 < code.table.size(); i += 2) {
    at += byte_at(code.table, i);
    if (at > offset) break;
    line += i8(code.table[i + 1]);
  }
  return i32(line);
}

// 3.10 (co_linetable): ranges (bytes of code, signed difference to the line of the range before); -128: no line.
i32 line_by_ranges(const CodeInfo& code, u64 offset) {
  i64 line = code.first_line;
  u64 end = 0;
  for (size_t i = 0; i + 1 < code.table.size(); i += 2) {
    i8 lines = i8(code.table[i + 1]);
    if (lines != -128) line += lines;
    end += byte_at(code.table, i);
    if (offset < end) return lines == -128 ? kNoLine : i32(line);
  }
  return kNoLine;
}

// From 3.11 on (co_linetable): each entry has a head byte, with bit 7 set, a form in bits 3 to 6 and the number of
// instructions minus one in bits 0 to 2. What follows it depends on the form. Only the lines matter here.
class Locations {
 public:
  explicit Locations(const std::string& table) : table_(table) {}

  // Advances to the next entry; false at the end, or where the table is damaged.
  bool next() {
    while (at_ < table_.size() && !(byte_at(table_, at_) & 0x80)) at_++;  // columns of the entry before
    if (at_ >= table_.size()) return false;
    u8 head = byte_at(table_, at_++);
    bytes_ = 2 * ((head & 7) + 1);
    u8 form = head >> 3 & 15;
    has_line_ = form != kNone;
    lines_ = 0;
    if (form == kLong || form == kNoColumns) {
      std::optional<i64> lines = signed_number();
      if (!lines) return false;
      lines_ = *lines;
    } else if (form >= kOneLine && form < kOneLine + 3) {
      lines_ = form - kOneLine;
    }
    return true;
  }
  u32 bytes() const { return bytes_; }
  bool has_line() const { return has_line_; }
  i64 lines() const { return lines_; }  // difference to the entry before

 private:
  static constexpr u8 kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;

  // Six bits per byte, lowest first; bit 6: another byte follows. The lowest bit of the number is its sign.
  std::optional<i64> signed_number() {
    u64 value = 0;
    for (int shift = 0; shift < 36 && at_ < table_.size(); shift += 6) {
      u8 byte = byte_at(table_, at_++);
      value |= u64(byte & 63) << shift;
      if (!(byte & 64)) return value & 1 ? -i64(value >> 1) : i64(value >> 1);
    }
    return std::nullopt;
  }

  const std::string& table_;
  size_t at_ = 0;
  u32 bytes_ = 0;
  bool has_line_ = false;
  i64 lines_ = 0;
};

i32 line_by_locations(const CodeInfo& code, u64 offset) {
  Locations entries(code.table);
  i64 line = code.first_line;
  u64 end = 0;
  while (entries.next()) {
    line += entries.lines();
    end += entries.bytes();
    if (offset < end) return entries.has_line() ? i32(line) : kNoLine;
  }
  return kNoLine;
}

}  // namespace

i32 line_of(const CodeInfo& code, u64 offset) {
  if (code.python >= kLocations) return line_by_locations(code, offset);
  return code.python >= kRanges ? line_by_ranges(code, offset) : line_by_pairs(code, offset);
}

}  // namespace tprof
