// What was counted as steps, and the stretches beside them, in numbers and in the one sentence that every command says it
// with: a person must see at once whether it is what they meant.
#pragma once
#include "model/trace.h"

namespace tprof {

// What a source of steps is called.
struct StepWords {
  StepBy by;
  const char* source;  // where the edges come from
  const char* kind;    // "training", "inference", "given", "none"
  const char* each;    // what makes one of them
};
const StepWords& words_of(StepBy by);
// The one with this source and kind, StepBy::none if there is none.
StepBy step_by(std::string_view source, std::string_view kind);

struct StretchSum {
  u64 count = 0;
  u64 continued = 0;  // of these: began before the span, in which others count them
  u64 batches = 0, calls = 0, left_out = 0;
  i64 ns = 0;
};

struct Counted {
  StepBy by = StepBy::none;  // of most steps
  u64 steps = 0;
  bool guessed = false;
  bool before_training = false;
  StretchSum evaluations, inferences;
};
Counted counted_of(const Model& model);
Counted counted_of(const Meta& meta);  // the whole recording, without times

// Sums up spans of one process.
Counted& operator+=(Counted& sum, const Counted& more);

// "1 evaluation of 1 batch", "3 stretches of inference"
std::string stretches_text(StretchKind kind, const StretchSum& sum);

// "20 training steps (a batch and an update each), 1 evaluation of 1 batch"
std::string counted_text(const Counted& counted);

}  // namespace tprof
