// What was counted as steps, and the stretches beside them, as numbers and as the one sentence that every command
// prints: a user must see at once whether it is what they meant.
#pragma once
#include "model/trace.h"

namespace tprof {

// The names of a source of steps.
struct StepSourceNames {
  StepBy by;
  const char* source;  // what the steps are counted by
  const char* kind;    // "training", "inference", "given", "none"
  const char* each;    // what makes one step
};
const StepSourceNames& names_of(StepBy by);
// The inverse; StepBy::none if nothing has this source and kind.
StepBy step_by(std::string_view source, std::string_view kind);

struct StretchSum {
  u64 count = 0;
  u64 continued = 0;  // how many of them began before the span; another span counts those
  u64 batches = 0, calls = 0, left_out = 0;
  i64 ns = 0;
};

struct Counted {
  StepBy by = StepBy::none;  // the source of most steps
  u64 steps = 0;
  bool guessed = false;
  bool before_training = false;
  StretchSum stretches[kStretchKinds];  // by StretchKind - 1
  const StretchSum& of(StretchKind kind) const { return stretches[u32(kind) - 1]; }
};
Counted counted_of(const Model& model);
Counted counted_of(const Meta& meta);  // the whole recording, without times

// Sums up spans of one process.
Counted& operator+=(Counted& sum, const Counted& more);

// "1 evaluation of 1 batch", "3 stretches of inference", "1 stretch after the loop"
std::string stretches_text(StretchKind kind, const StretchSum& sum);

// "20 training steps (a batch and an update each), 1 evaluation of 1 batch"
std::string counted_text(const Counted& counted);

}  // namespace tprof
