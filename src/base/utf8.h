#pragma once
#include <stddef.h>

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

}  // namespace tprof
