// Codes numbers that repeat in the same surroundings: 0 where a number is what was there the last time, else 1 +
// number. Programs do the same again and again, so that nearly all of a column is 0 (viewer/data/timeline_code.ts reads
// it).
#pragma once
#include <vector>

#include "report/varint.h"

namespace tprof {

class Guesser {
 public:
  void put(u32 value, u32 after, u32 and_after) {
    u32& guess = table_[(after * 0x9e3779b1u ^ and_after * 0x85ebca6bu) >> (32 - kBits)];
    put_varint(bytes_, guess == value ? 0 : u64(value) + 1);
    guess = value;
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  static constexpr int kBits = 18;
  std::vector<u32> table_ = std::vector<u32>(size_t(1) << kBits);
  std::string bytes_;
};

}  // namespace tprof
