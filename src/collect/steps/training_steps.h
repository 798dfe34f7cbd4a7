// The steps of a training, found from what happens between its updates. An update is the end of an optimizer's step (or
// of a gradient scaler's update, even if it skipped that step); in a training without optimizers every backward pass
// counts as an update, unless its gradients go into a pass that follows it at once.
//
// A step starts at the first of these after an update:
//   a batch is drawn        (or iter() of the loader, if called right before)
//   gradients are cleared   unless this loop clears them after its updates
//   a forward pass with gradients
//   a backward pass
// In a loop that draws batches, only a draw starts a step, so that all updates on one batch are one step. If a loop
// drew a batch and then goes on without drawing (for kPatience updates), each update is made a step afterwards. An
// exhausted loader draws no more, so forward passes start steps again. In a loop that draws nothing, models may be
// updated in turn (turns.h); while they are, a step is confirmed by its update. An update that follows another one
// without a forward pass of a model between them is for a second loss of the same step.
//
// Batches that were drawn and not used yet form a group. It becomes training with a backward pass or an update. It was
// an evaluation if its loader is drawn from again, or is exhausted, after forward passes and without a backward pass;
// batches that were fetched ahead of the first forward pass stay in one group, and a batch that was drawn before those
// of an evaluation is set aside. A backward pass behind forward passes in eval mode only (an attack on the batch, a
// force, a Fisher information) decides nothing, unless the training itself runs in eval mode. Without batches, the
// second and further calls of modules that train are an evaluation if they are in eval mode, and inference (a rollout,
// sampling) if they run without gradients. Calls of modules that never train belong to the step around them.
//
//   gap ----first sign----> tentative ----backward pass or update----> working ----update----> gap
//            tentative --the batch was an evaluation's, or the loader was exhausted--> gap
//
// Until training is known, no step is made; only the place where the first one would start is followed.
#pragma once
#include "collect/steps/step_line.h"
#include "collect/steps/turns.h"

namespace tprof {

// An outermost call of an nn.Module.
struct ModuleCall {
  const void* module;
  bool gradients;         // autograd is on
  bool training;          // its mode
  const void* parameter;  // its first one, which tells models apart longer than their addresses; nullptr: it has none
  bool trains;            // one of its parameters belongs to a module that was called with gradients in training mode
};

class TrainingSteps {
 public:
  void reset(StepLine* line);

  // --- tokens, in time order. Where a token may start a step or a stretch, `t` is the start of the label around it, if
  // any.
  void loader_opened(u64 t);
  void draw_begins(u64 t, const void* iterator);
  void draw_ends(bool got_batch);
  void module_called(u64 t, const ModuleCall& call);
  void cleared(u64 t);
  void creates_graph(bool creates) { creates_graph_ = creates; }  // the backward pass that follows
  void backward(u64 t);
  // `optimizer`: see Turn. False: it changed nothing, since there was no backward pass yet.
  bool update(u64 begin, u64 end, u64 optimizer);
  void graph_replayed(u64 begin, u64 end);
  // A backward pass ended, which the latest token was about. 0: nobody knows when.
  void backward_ended(u64 t);
  // A forward or backward pass ran inside an optimizer's step that started at `t`.
  void closure_began(u64 t);
  // The program ends, so that no draw will show what became of the newest batches.
  void program_ends();

  // --- how to read them
  // The latest token shows that this is a training: makes the step that the token belongs to. If this process was taken
  // for a training without optimizers so far, counting goes on from the step it is in.
  void start(bool with_optimizers);
  // This is a training, and the program itself states where its steps are.
  void known() { live_ = true; }
  // Draws are ignored: each update is a step. Call it before the first token.
  void ignore_draws() { draws_count_ = false; }
  // The program itself states where its steps are: forgets the step that is under way.
  void stand_aside();

  bool live() const { return live_; }
  // The newest step has had its update.
  bool between_steps() const { return live_ && state_ == State::gap; }
  // The newest step has a backward pass and no update, where others had one.
  bool lacks_update() const { return live_ && optimizers_ && !first_step_ && state_ == State::working; }
  // It matters of which optimizer an update is. To learn it may take some milliseconds, if another thread runs Python.
  bool wants_optimizer() const { return !step_.draws && turns_.want_optimizer(); }
  // A backward pass would change nothing.
  bool ignores_backward() const { return live_ && optimizers_ && state_ == State::working && !group_ && updates_seen_; }

 private:
  enum class State : u8 { gap, tentative, working };
  enum class Sign : u8 { draw, clearing, forward, backward, replay };

  // A step as far as it is known.
  struct Step {
    Sign began_with = Sign::forward;
    bool draws = false;      // it has a batch of its own
    bool after_dry = false;  // the first one that started since a loader was exhausted
    u32 updates = 0;
    u64 next_edge = 0;     // the first sign after the last update that did not start a step
    bool several = false;  // updates on its batch are of several models
    u32 kept = 0;          // entries of kept_: such signs that an update followed
  };

  void reset_group(u64 t, const void* iterator);
  void open_group(u64 t, const void* iterator);
  void close_group();
  void evaluated();
  void set_first_batch_aside();
  void resume_first_batch(u64 t);
  void quiet_call(u64 t, const ModuleCall& call);
  void quiet_calls_were_an_evaluation();
  void end_stretch(u64 t);
  void sign(u64 t, Sign what);
  void begin(u64 t, Sign what);
  void withdraw();
  void forget_turn();
  void confirm(u64 t);
  void updated(u64 t, bool same_forward = false);
  void updated_by_hand(u64 t);
  void split(u64 t, Sign what);
  void recount();
  void recount_from(i64 number, u64 t, StepBy by);
  void make_kept_steps();
  void sign_without_update(u64 t, Sign what);
  bool knows(const ModuleCall& call) const { return live_ ? call.trains : call.parameter != nullptr; }
  bool drawing() const;
  bool drawn(const void* iterator) const;
  bool trailing_pass() const;
  bool decides_nothing() const;
  bool changes_nothing() const;
  bool takes_turns() const { return live_ && optimizers_ && !step_.draws && !step_.after_dry; }
  bool in_round() const;
  bool is_same_forward() const;
  void split_objectives();
  void join();
  void took_turn(const Turn& turn, bool joined, bool same_forward);
  void group_round(u32 steps);
  void passes_were_one_step();
  StepBy by(Sign what) const;

  static constexpr u32 kPatience =
      3;  // after so many updates on one batch the loop is taken for one that draws no more
  static constexpr u32 kClearingsAlone =
      3;  // after so many clearings that follow backward passes, without an update, there are no optimizers
  static constexpr u32 kPassesAlone = 64;  // after so many backward passes without an update, likewise
  static constexpr u32 kMaxKept = 64;
  static constexpr i64 kMaxRecounted = 16;  // steps
  static constexpr i64 kMaxPasses = 512;    // ... that were backward passes of the first update
  static constexpr u32 kObjectives = 8;    // after so many updates for one forward pass, it has nothing to do with them
  static constexpr u32 kAmbiguous = 3;     // changes between batches for one model and for several
  static constexpr u32 kMaxIterators = 4;  // of one group

  StepLine* line_ = nullptr;
  State state_ = State::gap;
  bool live_ = false;
  bool optimizers_ = true;  // there are some
  bool draws_count_ = true;
  bool updates_seen_ = false;
  bool trains_in_eval_ = false;     // an update followed calls in eval mode only
  bool replays_are_steps_ = false;  // of a CUDA graph, without batches
  u64 replayed_ = 0;                // when the newest replay ended
  bool first_step_ = true;          // none has ended
  bool cleared_update_ = false;     // an update followed a clearing at once, and was none; another one shall be
  bool clears_first_ = false;       // gradients are cleared before their update, not after it
  u64 begin_ = 0;                   // of the newest step
  Step step_, previous_;            // the newest and the one before
  Step before_;                     // ... and the one before that

  // Since the last update: a backward pass, calls with gradients in training mode, in eval mode.
  bool passed_since_ = false, trained_since_ = false, evaluated_since_ = false;
  bool called_since_ = false;  // a call of any kind
  // The newest step has calls with gradients, for losses of which each may have an update of its own.
  bool called_before_ = false;
  Turn turn_;

  Turns turns_;  // in a loop that draws nothing

  // The batch group.
  u64 group_ = 0;                     // its start, 0: there is no group
  u64 opened_ = 0;                    // when iter() of a loader was called, if no other token came since
  const void* drawing_ = nullptr;     // the iterator that was last drawn from ...
  u64 drawn_ = 0;                     // ... and when
  const void* trained_on_ = nullptr;  // the first iterator of the last group that was trained on
  const void* iterators_[kMaxIterators] = {};
  u32 iterator_count_ = 0, batches_ = 0, calls_ = 0;
  bool eval_calls_ = false;           // it has calls, in eval mode and without gradients, of modules that train
  bool eval_passes_ = false;          // ... with gradients
  bool training_calls_ = false;       // it has calls in training mode with gradients
  bool shown_ = false;                // it started a step
  bool spent_ = false;                // its loader is exhausted
  const void* evaluating_ = nullptr;  // the iterator of the stretch that is open

  // A batch that was drawn to be trained on before an evaluation.
  u64 second_ = 0;  // when the second iterator of the group was drawn from, if nothing had been called by then
  struct {
    u64 group = 0;  // 0: there is none
    const void* iterator = nullptr;
    bool shown = false;
  } aside_;

  // Calls without batches that may turn out to be a stretch.
  u64 quiet_ = 0;  // time of the first
  u32 quiet_count_ = 0;
  u64 last_call_ = 0;  // time of the last call of the stretch, if it had gradients

  // Loops that draw.
  bool dry_ = false;   // a loader was exhausted, and nothing was drawn since
  u64 dry_since_ = 0;  // when the draw began that showed it
  u32 dry_steps_ = 0;  // steps that started since then
  u32 updates_per_batch_ = 1, most_updates_ = 1;
  Turn first_turn_;            // of the first update on the newest batch
  u32 several_or_single_ = 0;  // how often a batch with updates of several models came next to one with those of one
  u64 kept_[kMaxKept] = {};
  bool split_several_ = false;  // those updates are of several models
  i64 split_from_ = -1;         // number of the step that was split into steps of one update each

  // Training without optimizers.
  bool creates_graph_ = false;  // the gradients of the newest backward pass may be differentiated, too
  bool inner_passes_ = false;   // ... and such a pass is no update
  i64 inner_from_ = -1;         // number of the step of the first of them since another pass
  u64 inner_begin_ = 0;
  bool clears_ = false;            // gradients were ever cleared
  bool cleared_ = false;           // since the last backward pass
  bool passed_ = false;            // a backward pass since the last sign
  bool passed_uncleared_ = false;  // ... since the last clearing
  u32 clearings_alone_ = 0, passes_alone_ = 0;
  i64 alone_from_ = -1;  // number of the step whose backward passes were made steps, since no update was seen
  u64 alone_begin_ = 0;
  bool alone_draws_ = false;
};

}  // namespace tprof
