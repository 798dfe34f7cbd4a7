// Which models are updated in turn, in a loop that draws nothing. A pure rule.
#pragma once
#include "base/types.h"

namespace tprof {

// What shows which model an update is of: the first parameters of the first and the last module that were called with
// gradients since the update before, up to a backward pass. Modules themselves may be made anew for each step.
struct Turn {
  const void *first = nullptr, *last = nullptr;
  u64 begin = 0;  // of the step that the update made
  bool is_as(const Turn& other) const { return first == other.first && last == other.last; }
};

class Turns {
 public:
  static constexpr u32 kLongestCycle = 4;  // models

  void forget() { count_ = 0; }
  void add(const Turn& turn);
  // 0: the newest update, 1: the one before it ... Up to twice kLongestCycle are kept.
  const Turn& newest(u32 back) const { return turns_[kKept - 1 - back]; }
  // Whether the newest update is of what an earlier one was of, and the one before is not.
  bool alternate() const;
  // The number of models, if the last updates are twice those of the same models in the same order; else 0.
  u32 cycle() const;

 private:
  static constexpr u32 kKept = 2 * kLongestCycle;

  bool returns(const void* Turn::*what) const;
  bool repeats(u32 length) const;

  Turn turns_[kKept] = {};  // the newest last
  u32 count_ = 0;
};

}  // namespace tprof
