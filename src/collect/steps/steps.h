// Finds the steps of a training or inference loop from the few events that are visible in every phase, so that a
// step has the same number with and without a schedule. A pure state machine: tokens in, a line of steps out; no locks,
// no clock, no allocation. One instance per process, fed under one lock.
//
// Where the edges come from, first that applies:
//   api            tprof_step() ends a step and begins the next.
//   profiler_step  while a ProfilerStep# range of the script is open, its begins are the edges.
//   option         TPROF_STEP names one source; nothing else cuts.
//   training       once an update was seen, or a backward pass: training_steps.h
//   inference      else: inference_steps.h
// Before training is known both machines run, and the line shows inference. When training turns out to follow, the line
// begins anew with the first iteration as step 0.
//
// No evidence, and so no tokens: what runs inside a loader's fetch, a backward pass or an optimizer's step (but an update
// inside a backward pass is one, and a closure's forwards show that the optimizer around them is a step), other threads
// than the one that leads, compiling and tracing. The callers see to it (collect/python/watch.cpp), but for closures and
// backward passes, which are followed here.
//
// Labels (record_function ranges of the script) are kept whole: what begins a step or an evaluation does so where the
// label around it began.
#pragma once
#include "base/options.h"
#include "collect/steps/inference_steps.h"
#include "collect/steps/step_line.h"
#include "collect/steps/training_steps.h"

namespace tprof {

class StepDetector {
 public:
  // `start` is when watching began: where step 0 begins if the first thing ever heard is tprof_step().
  void reset(const StepSource& source, StepSink* sink, u64 start);

  // Tokens, in time order.
  void loader_opened(u64 t);                      // iter() of a DataLoader was called
  void draw_begins(u64 t, const void* iterator);  // DataLoader iterator's __next__
  void draw_ends(u64 t, bool got_batch);
  void module_called(u64 t, const ModuleCall& call);  // outermost calls only
  void backward_node(u64 t, i64 sequence);            // begin of an autograd node that no announced pass runs
  void backward_begins(u64 t);                        // torch.autograd.backward or grad
  void backward_ends();
  void optimizer_begins(u64 t);
  void optimizer_ends(u64 t);
  void gradients_cleared(u64 t);  // Optimizer.zero_grad or Module.zero_grad begins
  void scaler_updated(u64 t);     // end of an enabled GradScaler.update
  void profiler_step_begins(u64 t);
  void profiler_step_ends(u64 t);
  void api_step(u64 t);
  void range_matched(u64 t);  // begin of a range that matches TPROF_STEP=range:REGEX or nvtx:REGEX
  // Whether the program has made an optimizer of torch.optim's kind; true until said otherwise.
  void optimizers_exist(bool exist);

  // Tokens were missed, or come from another thread from now on: what is under way is forgotten.
  void forget();

  // Signs were seen that do not fit.
  void guess() { line_.guess(); }

  // Where an edge at `t` belongs, given the begins of the labels open on the thread, outermost first.
  u64 before_labels(u64 t, const u64* begins, u32 count) const;

  i64 number() const { return line_.number(); }  // of the current step, -1 before the first
  bool tentative() const { return line_.tentative(); }
  bool guessed() const { return line_.guessed(); }
  // Training is known, or steps are stated by the program or its user: counting will not begin anew.
  bool settled() const { return training_.live() || declared() || source_.mode != StepMode::automatic; }
  // End of the last thing that belonged to a step: where the last step ends.
  u64 last_work() const { return line_.last_work(); }
  // False when a backward node would change nothing, so that the hot path can skip the lock.
  bool wants_backward() const { return !training_.ignores_backward() || source_.mode == StepMode::backward; }

 private:
  bool declared() const { return in_profiler_step_ || api_; }
  bool automatic() const { return source_.mode == StepMode::automatic && !declared(); }
  bool finds_updates() const { return automatic() || (source_.mode == StepMode::optimizer && !declared()); }
  bool by_pattern() const { return source_.mode == StepMode::range || source_.mode == StepMode::nvtx; }
  bool counts_passes() const { return source_.mode == StepMode::backward && !declared(); }
  void work(u64 t);
  void sign_of_closure();
  void backward(u64 t, bool new_pass);
  void sign_by_passes(u64 t);
  void update(u64 begin, u64 end);
  void declared_edge(u64 t, StepBy by);

  StepLine line_;
  TrainingSteps training_;
  InferenceSteps inference_;

  int in_optimizer_ = 0;
  bool in_backward_ = false;
  u64 optimizer_begin_ = 0;
  bool closure_ = false;         // of the optimizer that runs: a forward or backward pass was seen in it
  u64 updated_in_backward_ = 0;  // begin of the first optimizer that ran inside the backward pass
  bool optimizers_exist_ = true;
  bool draw_made_step_ = false;  // TPROF_STEP=dataloader: the draw under way
  i64 passes_ = 0;               // TPROF_STEP=backward: in the current step
  bool in_profiler_step_ = false;
  bool api_ = false;
  StepSource source_;
  i64 newest_sequence_ = -1;  // autograd nodes run newest first: a newer one begins another pass
  u64 start_ = 0;
};

}  // namespace tprof
