// Steps of a training, from what lies between its updates. An update is the end of an optimizer's step (or of a gradient
// scaler's update, also one that skipped it); in a training without optimizers every backward pass is taken for one.
//
// Where a step begins: at the first of these behind an update
//   a batch drawn      (or iter() of the loader right before it)
//   a clearing of gradients   unless this loop clears them behind its update
//   a forward with gradients
//   a backward pass
// In a loop that draws its batches only a draw begins a step, so that all updates on one batch are one step; a loop that
// drew once and then goes on without (kPatience updates) makes a step of each update, after the fact. An exhausted loader
// draws no more, so forwards begin steps again.
//
// What is no step: a batch group is what was drawn and not yet decided. It becomes training with a backward pass or an
// update. It was an evaluation if its loader is drawn from again, or is exhausted, after forwards and without a backward
// pass; draws that ran ahead of the first forward stay in one group. Without batches, calls of modules that train are an
// evaluation in eval mode, and inference (a rollout, sampling) without gradients, from the second call on. Calls of
// modules that never train belong to the step around them.
//
//   gap ----first sign----> tentative ----backward pass or update----> working ----update----> gap
//            tentative --batch was an evaluation's, loader was exhausted--> gap
//
// Until training is known all of this happens silently: no step is made, only where the first would begin is followed.
#pragma once
#include "collect/steps/step_line.h"

namespace tprof {

// An outermost call of an nn.Module.
struct ModuleCall {
  const void* module;
  bool gradients;  // autograd is on
  bool training;   // its mode
  bool has_parameters;
  bool trains;  // one of its parameters is of a module that was called with gradients in training mode
};

class TrainingSteps {
 public:
  void reset(StepLine* line);

  // --- tokens, in time order. `t` of what may begin a step or a stretch is that of the label around it, if any.
  void loader_opened(u64 t);
  void draw_begins(u64 t, const void* iterator);
  void draw_ends(bool got_batch);
  void module_called(u64 t, const ModuleCall& call);
  void cleared(u64 t);
  void backward(u64 t);
  void update(u64 begin, u64 end);
  // A forward or backward pass was made inside an optimizer's step, which began at `t`.
  void closure_began(u64 t);

  // --- what is to be made of them
  // Training is known, by the token just heard: makes the step that it belongs to. If this process was thought to train
  // without optimizers so far, it goes on from the step it is in.
  void start(bool with_optimizers);
  // Training is known, and the program says itself where its steps are.
  void known() { live_ = true; }
  // Draws mean nothing: each update is a step. Before the first token.
  void ignore_draws() { draws_count_ = false; }
  // The program says itself where its steps are: what is under way is forgotten.
  void stand_aside();

  bool live() const { return live_; }
  // A backward pass would change nothing.
  bool ignores_backward() const { return live_ && optimizers_ && state_ == State::working && !group_ && updates_seen_; }

 private:
  enum class State : u8 { gap, tentative, working };
  enum class Sign : u8 { draw, clearing, forward, backward };

  // A step as far as it is known.
  struct Step {
    Sign began_with = Sign::forward;
    bool draws = false;      // it has a batch of its own
    bool after_dry = false;  // the first one begun since a loader was exhausted
    u32 updates = 0;
    u64 next_edge = 0;                             // the first sign behind the last update that did not begin a step
    u32 kept = 0;                                  // such signs that an update followed: kept_
    const void *first = nullptr, *last = nullptr;  // modules called with gradients before a backward pass
  };

  void open_group(u64 t, const void* iterator);
  void close_group();
  void evaluated();
  void quiet_call(u64 t, const ModuleCall& call);
  void quiet_calls_were_an_evaluation();
  void end_stretch(u64 t);
  void sign(u64 t, Sign what);
  void begin(u64 t, Sign what);
  void withdraw();
  void confirm(u64 t);
  void updated(u64 t);
  void split(u64 t, Sign what);
  void recount();
  void make_kept_steps();
  void sign_without_update(u64 t, Sign what);
  bool knows(const ModuleCall& call) const { return live_ ? call.trains : call.has_parameters; }
  bool drawing() const;
  bool drawn(const void* iterator) const;
  bool trailing_pass() const;
  bool in_turn() const;
  StepBy by(Sign what) const;

  static constexpr u32 kPatience = 3;        // updates on one batch before a loop is taken for one that draws no more
  static constexpr u32 kClearingsAlone = 3;  // clearings behind backward passes before optimizers are given up on
  static constexpr u32 kPassesAlone = 64;    // backward passes, likewise
  static constexpr u32 kMaxKept = 64;
  static constexpr i64 kMaxRecounted = 16;  // steps
  static constexpr u32 kMaxIterators = 4;   // of one group

  StepLine* line_ = nullptr;
  State state_ = State::gap;
  bool live_ = false;
  bool optimizers_ = true;  // there are some
  bool draws_count_ = true;
  bool updates_seen_ = false;
  bool first_step_ = true;     // none has ended
  bool clears_first_ = false;  // gradients are cleared before their update, not behind it
  u64 begin_ = 0;              // of the newest step
  Step step_, previous_;       // the newest and the one before
  Step before_;                // ... and the one before that

  // The batch group.
  u64 group_ = 0;   // its begin, 0: none
  u64 opened_ = 0;  // iter() of a loader, if nothing else was heard since
  const void* iterators_[kMaxIterators] = {};
  u32 iterator_count_ = 0, batches_ = 0, calls_ = 0;
  bool eval_calls_ = false;           // in eval mode without gradients, of modules that train
  bool shown_ = false;                // it began a step
  bool spent_ = false;                // its loader is exhausted
  const void* evaluating_ = nullptr;  // the iterator of the stretch that is open

  // Calls without batches that may turn out to be a stretch.
  u64 quiet_ = 0;  // the first
  u32 quiet_count_ = 0;
  u64 last_call_ = 0;  // of the stretch, if it had gradients

  // Loops that draw.
  bool dry_ = false;   // a loader was exhausted, nothing was drawn since
  u32 dry_steps_ = 0;  // begun since then
  u32 updates_per_batch_ = 1, most_updates_ = 1;
  u64 kept_[kMaxKept] = {};
  i64 split_from_ = -1;  // number of the step that was split into steps of one update each

  // Training without optimizers.
  bool clears_ = false;            // gradients were ever cleared
  bool cleared_ = false;           // since the last backward pass
  bool passed_ = false;            // a backward pass since the last sign
  bool passed_uncleared_ = false;  // ... since the last clearing
  u32 clearings_alone_ = 0, passes_alone_ = 0;
};

}  // namespace tprof
