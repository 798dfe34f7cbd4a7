#include "collect/steps/turns.h"

#include <algorithm>

namespace tprof {

void Turns::add(const Turn& turn) {
  std::move(turns_ + 1, turns_ + kKept, turns_);
  turns_[kKept - 1] = turn;
  count_ = std::min(count_ + 1, kKept);
}

bool Turns::returns(const void* Turn::*what) const {
  const void* now = newest(0).*what;
  if (!now || now == newest(1).*what) return false;
  for (u32 back = 2; back < std::min(count_, kLongestCycle + 1); back++)
    if (newest(back).*what == now) return true;
  return false;
}

bool Turns::alternate() const { return returns(&Turn::first) || returns(&Turn::last); }

bool Turns::repeats(u32 length) const {
  if (count_ < 2 * length) return false;
  for (u32 i = 0; i < length; i++) {
    if (!newest(i).is_as(newest(i + length))) return false;
    for (u32 j = 0; j < i; j++)
      if (newest(i).is_as(newest(j))) return false;
  }
  return true;
}

u32 Turns::cycle() const {
  for (u32 length = 2; length <= kLongestCycle; length++)
    if (repeats(length)) return length;
  return 0;
}

}  // namespace tprof
