// The hybrid of runs and bit-packed groups, by which Parquet encodes definition levels and indices into dictionaries:
// "RLE" in its Encodings.md.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof::parquet {

// The bits that numbers below `count` need: 0 for one number.
inline u32 bits_for(size_t count) {
  u32 bits = 0;
  while (count > size_t(1) << bits) bits++;
  return bits;
}

// Each value fits `bits`, 0 to 32. A run of eight equal values or more, from a multiple of eight on, is one entry.
std::string encode_levels(const std::vector<u32>& values, u32 bits);

}  // namespace tprof::parquet
