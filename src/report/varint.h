// Whole numbers as the page's packed data holds them: 7 bits a byte, lowest first.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

inline void put_varint(std::string& out, u64 value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// 2v, or -2v - 1 where v < 0.
inline u64 zigzag(i64 value) { return u64(value) << 1 ^ u64(value >> 63); }

}  // namespace tprof
