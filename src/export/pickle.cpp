#include "export/pickle.h"

#include "base/utf8.h"

namespace tprof {
namespace {

enum Opcode : char {
  kInt1 = 'K',
  kInt2 = 'M',
  kInt4 = 'J',
  kLong = '\x8a',
  kText1 = '\x8c',
  kText4 = 'X',
  kRemember = '\x94',
  kAgain1 = 'h',
  kAgain4 = 'j',
};

std::string as_utf8(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t n = utf8_length(text, at);
    out += n ? text.substr(at, n) : "\xef\xbf\xbd";
    at += n ? n : 1;
  }
  return out;
}

}  // namespace

// The low bytes, least significant first.
void Pickle::bytes(u64 value, size_t n) {
  for (size_t i = 0; i < n; i++) out_.put(char(value >> 8 * i));
}

void Pickle::number(i64 value) {
  if (value >= 0 && value <= 0xffff) {
    out_.put(value <= 0xff ? kInt1 : kInt2);
    return bytes(u64(value), value <= 0xff ? 1 : 2);
  }
  bool is_short = value == i32(value);
  out_.put(is_short ? kInt4 : kLong);
  if (!is_short) bytes(8, 1);
  bytes(u64(value), is_short ? 4 : 8);
}

void Pickle::number(u64 value) {
  if (value <= u64(INT64_MAX)) return number(i64(value));
  out_.put(kLong);
  bytes(9, 1);
  bytes(value, 8);
  bytes(0, 1);
}

void Pickle::text(std::string_view text) {
  std::string said = as_utf8(text);
  auto known = texts_.find(said);
  if (known != texts_.end()) return again(known->second);
  bool is_short = said.size() <= 0xff;
  out_.put(is_short ? kText1 : kText4);
  bytes(said.size(), is_short ? 1 : 4);
  out_.put(said);
  texts_.emplace(std::move(said), remember());
}

u32 Pickle::remember() {
  out_.put(kRemember);
  return remembered_++;
}

void Pickle::again(u32 value) {
  bool is_short = value <= 0xff;
  out_.put(is_short ? kAgain1 : kAgain4);
  bytes(value, is_short ? 1 : 4);
}

}  // namespace tprof
