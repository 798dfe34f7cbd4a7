#pragma once
#include <stddef.h>

#include <string>
#include <string_view>

namespace tprof {

// The length in bytes of the UTF-8 character at `at`; 0: the bytes there are not UTF-8.
inline size_t utf8_length(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned a = byte(0);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a < 0xE0) return tail(1) ? 2 : 0;
  if (a >= 0xE0 && a < 0xF0) {
    bool legal = tail(1) && tail(2) && !(a == 0xE0 && byte(1) < 0xA0) && !(a == 0xED && byte(1) >= 0xA0);
    return legal ? 3 : 0;
  }
  if (a >= 0xF0 && a < 0xF5) {
    bool legal = tail(1) && tail(2) && tail(3) && !(a == 0xF0 && byte(1) < 0x90) && !(a == 0xF4 && byte(1) >= 0x90);
    return legal ? 4 : 0;
  }
  return 0;
}

// The code point of the character of `bytes` bytes at `at`, as utf8_length() found it.
inline unsigned utf8_code(std::string_view text, size_t at, size_t bytes) {
  constexpr unsigned char kFirst[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  unsigned code = static_cast<unsigned char>(text[at]) & kFirst[bytes];
  for (size_t i = 1; i < bytes; i++) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  return code;
}

// Appends a code point; a surrogate, or what is no code point, becomes U+FFFD.
inline void append_utf8(std::string& out, unsigned c) {
  if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  if (c < 0x80) {
    out += char(c);
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += char((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | c >> (6 * more));
  while (more-- > 0) out += char(0x80 | (c >> (6 * more) & 63));
}

}  // namespace tprof
