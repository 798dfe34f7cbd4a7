// The final steps and stretches of a recording: the detector writes them as soon as they are likely, and withdraws
// those that turn out to be none.
#pragma once
#include "record/reader.h"

namespace tprof {

// True for a window whose steps were counted as inference before the program began to train: they stay its steps. A
// window that holds both, as one from start to exit does, belongs to the training.
bool is_before_training(const WindowInfo& window, const Meta& meta);

// A training, whose steps end with an update (of gradients, or without optimizers a backward pass).
constexpr bool is_found_by_updates(StepBy by) {
  return by == StepBy::dataloader || by == StepBy::optimizer || by == StepBy::backward;
}

// The steps that showed work and were not withdrawn, in order of time. `before_training`: for a window as above; for
// others, steps that were counted before the training are left out. What is found by updates and has none is no step,
// but for the last one, which may have been cut, and where no update was ever seen.
std::vector<StepInfo> settled_steps(const Meta& meta, bool before_training = false);

// The same for stretches, including those inside of steps.
std::vector<StretchInfo> settled_stretches(const Meta& meta, bool before_training = false);

}  // namespace tprof
