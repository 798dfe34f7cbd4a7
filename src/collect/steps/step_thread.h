// Which thread's step tokens count: the one that trains.
#pragma once
#include "collect/recorder/thread.h"
#include "collect/steps/steps.h"

namespace tprof {

// What a token tells about the thread that makes the steps: it is the one that updates parameters or, until that is
// known, the first one that calls a module in training mode with gradients.
enum class Evidence { none, forward, backward, update };

class StepThread {
 public:
  // Whether a token of this thread counts. `block` nullptr: of any thread.
  bool counts(const ThreadBlock* block, Evidence evidence, StepDetector& detector);
  // The thread whose tokens count, 0: not known yet.
  u32 tid() const { return tid_; }
  // No other thread will ever make steps: this one updates parameters.
  bool is_sure() const { return sure_; }
  void forget() { *this = {}; }

 private:
  void lead(const ThreadBlock* block);

  bool sure_ = false;
  u32 tid_ = 0;
  const ThreadBlock* block_ = nullptr;          // of that thread
  const ThreadBlock* forward_block_ = nullptr;  // of the first thread with Evidence::forward
};

}  // namespace tprof
