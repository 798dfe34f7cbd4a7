// Sums by name over the last seconds that were recorded: of operators, of lines of Python, of whatever has a number.
// Time is divided into slots; what is older than the slots that are kept is forgotten.
#pragma once
#include <algorithm>
#include <unordered_map>

#include "base/types.h"

namespace tprof::live {

struct Sum {
  u64 self = 0, total = 0, calls = 0;
  Sum& operator+=(const Sum& other) {
    self += other.self;
    total += other.total;
    calls += other.calls;
    return *this;
  }
};

template <class Key>
class RecentSums {
 public:
  static constexpr u64 kSlots = 5;

  // `slot`: length of a slot, in ticks.
  void add(u64 slot, u64 at, const Key& key, const Sum& sum) {
    u64 number = at / std::max<u64>(slot, 1);
    if (number + kSlots <= newest_) return;  // too old
    newest_ = std::max(newest_, number);
    Slot& mine = slots_[number % kSlots];
    if (mine.number != number) {
      mine.number = number;
      mine.sums.clear();
    }
    mine.sums[key] += sum;
  }

  // Of the last kSlots slots up to the newest one that holds anything, and of these from slot number `first` on.
  std::unordered_map<Key, Sum> sums(u64 first = 0) const {
    std::unordered_map<Key, Sum> out;
    for (const Slot& slot : slots_)
      if (slot.number + kSlots > newest_ && slot.number >= first)
        for (const auto& [key, sum] : slot.sums) out[key] += sum;
    return out;
  }

 private:
  struct Slot {
    u64 number = 0;
    std::unordered_map<Key, Sum> sums;
  };
  Slot slots_[kSlots];
  u64 newest_ = 0;
};

}  // namespace tprof::live
