// Steps of a process that only infers, or is not known to train yet: each batch of the loader that leads, else each call
// of the module that leads.
//
// The loader that leads is the first to give a batch that a call follows; once it is exhausted, the next. The module that
// leads is the first outermost one with parameters or, if there is none, the first. If another one goes on without it
// (kPatience times), that one leads, and the count is guessed. Calls with gradients in training mode look like the first
// half of a training, so steps are made of them after the fact only.
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
  void module_called(u64 t, const ModuleCall& call);
  // Another loader or module may lead from now on; a step that is tentative is none.
  void forget();
  // An optimizer exists, so that training is likely to follow.
  void expect_training() {
    if (forwards_wait_for_ > 1) forwards_wait_for_ = kMaxKept;
  }

 private:
  static constexpr u32 kPatience = 8;
  static constexpr u32 kMaxKept = 64;
  // Edges that are none unless enough of them come.
  struct Kept {
    u64 at[kMaxKept];
    u32 count;
  };

  void begin(u64 t, StepBy by);
  bool keep(Kept& kept, u64 t, StepBy by, u32 limit);
  void call_without_batch(u64 t, const ModuleCall& call);

  StepLine* line_ = nullptr;
  u64 opened_ = 0;                 // iter() of a loader, if nothing else was heard since
  const void* loader_ = nullptr;   // the iterator that leads
  const void* drawing_ = nullptr;  // the one drawn from last
  bool dry_ = false;               // loader_ is exhausted
  bool empty_ = false;             // the tentative step has no batch yet
  bool waiting_ = false;           // the current step has a batch, or may get one, and no call yet
  bool spent_ = false;             // ... and its loader is exhausted
  i64 ahead_ = 0;                  // batches of loader_ that no call followed yet
  const void* module_ = nullptr;   // that leads
  bool module_has_parameters_ = false;
  const void* other_ = nullptr;  // that may come to lead
  u32 forwards_wait_for_ = 4;    // 1: forwards with gradients are all that there is
  Kept forwards_ = {};           // of the leader, with gradients in training mode
  Kept others_ = {};             // without the leader
};

}  // namespace tprof
