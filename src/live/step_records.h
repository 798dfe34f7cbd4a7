// The steps of a recording that is being written: those that are settled, each once. A step is settled when it has
// shown work and the one after it is certain, or its window is over.
#pragma once
#include <deque>
#include <functional>
#include <vector>

#include "live/breakdown.h"
#include "record/reader.h"

namespace tprof::live {

class StepRecords {
 public:
  void add(const RecordView& step);
  // Counting started again: steps that are not settled are void.
  void restart();
  // The steps that have become settled and ended before `until`. `read_again`: a record that may have been patched; it
  // stays as it is if it cannot be read.
  using ReadAgain = std::function<void(RecordRef, StepRecord&)>;
  std::vector<StepParts> settled(u64 until, const ReadAgain& read_again);

 private:
  struct Pending {
    RecordRef ref;
    StepRecord record;
  };
  std::deque<Pending> pending_;
};

}  // namespace tprof::live
