// Steps and stretches of a recording as they hold in the end: the detector writes them as soon as they may be some, and
// takes back what was none.
#pragma once
#include "record/reader.h"

namespace tprof {

// A window whose steps were counted as inference, by a program that trained later: they stay its steps. A window that
// holds both (everything from start to exit does) is of the training.
bool is_before_training(const WindowInfo& window, const Meta& meta);

// In order of time: steps that showed work and were not withdrawn. `before_training`: of such a window, else what was
// counted before the training is none.
std::vector<StepInfo> settled_steps(const Meta& meta, bool before_training = false);

// Likewise the stretches; those inside of steps among them.
std::vector<StretchInfo> settled_stretches(const Meta& meta, bool before_training = false);

}  // namespace tprof
