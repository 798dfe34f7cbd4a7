// The steps of a process that only infers, or is not known to train yet: one per batch of the leading loader or,
// without a loader, one per call of the leading module.
//
// The leading loader is the first one to yield a batch that is followed by a call; when it is exhausted, the next one
// leads. The leading module is the first outermost one with parameters or, if none has any, the first one. If another
// module is called kPatience times without it, that one leads from then on, and the count is marked as guessed. Calls
// with gradients in training mode look like the first half of a training, so they become steps only afterwards.
#pragma once
#include "collect/steps/step_line.h"
#include "collect/steps/training_steps.h"

namespace tprof {

class InferenceSteps {
 public:
  void reset(StepLine* line);

  void loader_opened(u64 t) { opened_ = t; }
  void draw_begins(u64 t, const void* iterator);
  void draw_ends(bool got_batch);
  // A batch was drawn, and its call has not come yet.
  bool waits() const { return waiting_; }
  void module_called(u64 t, const ModuleCall& call);
  // The program states that a step starts now: what came before makes none.
  void edge_stated() { opened_ = forwards_.count = others_.count = 0; }
  // Another loader or module may lead from now on; a tentative step is withdrawn.
  void forget();
  // An optimizer exists, so that training is likely to follow.
  void expect_training() {
    if (forwards_wait_for_ > 1) forwards_wait_for_ = kMaxKept;
  }

 private:
  static constexpr u32 kPatience = 8;
  static constexpr u32 kMaxKept = 64;
  // Edges that count only if enough of them come.
  struct Kept {
    u64 at[kMaxKept];
    u32 count;
  };

  void begin(u64 t, StepBy by);
  bool keep(Kept& kept, u64 t, StepBy by, u32 limit);
  void call_without_batch(u64 t, const ModuleCall& call);

  StepLine* line_ = nullptr;
  u64 opened_ = 0;                 // when iter() of a loader was called, if no other token came since
  const void* loader_ = nullptr;   // the leading iterator
  const void* drawing_ = nullptr;  // the iterator that was last drawn from
  u64 drawn_ = 0;                  // ... and when
  bool dry_ = false;               // loader_ is exhausted
  bool empty_ = false;             // the tentative step has no batch yet
  bool waiting_ = false;           // the current step has a batch, or may get one, and has no call yet
  bool spent_ = false;             // ... and its loader is exhausted
  i64 ahead_ = 0;                  // batches of loader_ that were not followed by a call yet
  const void* module_ = nullptr;   // the leading module
  bool module_has_parameters_ = false;
  const void* other_ = nullptr;  // the module that may lead next
  u32 forwards_wait_for_ = 4;    // so many forward passes with gradients; 1: there is nothing else
  Kept forwards_ = {};           // calls of the leading module with gradients in training mode
  Kept others_ = {};             // calls without the leading module
};

}  // namespace tprof
