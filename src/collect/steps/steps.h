// Finds the steps of a training or inference loop from the few events that are visible in every phase, so that a
// step has the same number with and without a schedule. A pure state machine: it takes tokens and makes a line of
// steps; it has no locks, no clock and no allocation. There is one instance per process, used under one lock.
//
// The edges come from the first of these that applies:
//   api            tprof_step() ends a step and starts the next one.
//   profiler_step  while the script has a ProfilerStep# range open, the starts of such ranges are the edges.
//   option         TPROF_STEP names one source; nothing else makes an edge.
//   training       after the first update or backward pass: training_steps.h
//   inference      otherwise: inference_steps.h
// Until training is known, the machines for training and inference both run, and the line shows inference. If training
// turns out to follow, the line starts again with the first iteration as step 0.
//
// Some events say nothing about steps and must not become tokens: those inside a loader's fetch, a backward pass or an
// optimizer's step, those of other threads than the one that makes the steps (step_thread.h), and those of compiling
// and tracing. The callers leave them out (collect/python/watch.cpp). Two exceptions are handled here: an update inside
// a backward pass is an update, and a forward pass inside an optimizer (its closure) shows that the optimizer is a
// step.
//
// A label (record_function range of the script) is never cut: a step or an evaluation that starts inside a label starts
// where that label does.
#pragma once
#include "base/options.h"
#include "collect/steps/inference_steps.h"
#include "collect/steps/step_line.h"
#include "collect/steps/training_steps.h"

namespace tprof {

class StepDetector {
 public:
  // `start`: when watching started. Step 0 starts there if the first token is tprof_step().
  void reset(const StepSource& source, StepSink* sink, u64 start);

  // Tokens, in time order.
  void loader_opened(u64 t);                      // iter() of a DataLoader was called
  void draw_begins(u64 t, const void* iterator);  // DataLoader iterator's __next__
  void draw_ends(u64 t, bool got_batch);
  void module_called(u64 t, const ModuleCall& call);  // outermost calls only
  void module_returned(u64 t);                        // ... of a program that is not known to train
  void backward_node(u64 t, i64 sequence);            // an autograd node starts outside of any announced pass
  void backward_begins(u64 t);                        // torch.autograd.backward or grad
  void backward_ends(u64 t);
  void optimizer_begins(u64 t, u64 optimizer);  // see Turn
  void optimizer_ends(u64 t);
  void gradients_cleared(u64 t);                // Optimizer.zero_grad or Module.zero_grad is called
  void scaler_updated(u64 t);                   // begin of an enabled GradScaler.update
  void graph_begins(u64 t);                     // CUDAGraph.replay is called, with gradients enabled
  void graph_replayed(u64 t);                   // ... and returns
  void capture_begins() { capturing_ = true; }  // of a CUDA graph: until it ends, nothing is really done
  void capture_ends() { capturing_ = false; }
  void profiler_step_begins(u64 t);
  void profiler_step_ends(u64 t);
  void api_step(u64 t);
  void range_matched(u64 t);  // a range that matches TPROF_STEP=range:REGEX or nvtx:REGEX starts
  void range_ended(u64 t);    // ... and ends
  // Before the token of a backward pass: whether its gradients have a graph, so that they can be differentiated, too.
  void creates_graph(bool creates) { training_.creates_graph(creates); }
  // Whether the program has made an optimizer of torch.optim; assumed until this says otherwise.
  void optimizers_exist(bool exist);

  // Tokens were missed, or come from another thread from now on: forgets the step that is under way.
  void forget();

  // No token will follow.
  void program_ends();

  // Tokens were seen that fit no loop that is known here: from now on steps are marked as guessed.
  void guess() { line_.guess(); }

  // Where an edge at `t` belongs, given the starts of the labels that are open on the thread, outermost first.
  u64 before_labels(u64 t, const u64* begins, u32 count) const;

  i64 number() const { return line_.number(); }  // of the current step, -1 before the first
  bool tentative() const { return line_.tentative(); }
  // The current step is over, or there is none: recording that starts now misses nothing of a step.
  bool between_steps() const;
  // If the program ends now, the current step is none: nothing made it one, or its gradients were never used (those of
  // an evaluation, or of fewer batches than gradients are accumulated over).
  bool void_at_end() const { return tentative() || (finds_updates() && training_.lacks_update()); }
  bool guessed() const { return line_.guessed(); }
  // Training is known, or steps are stated by the program or its user: counting will not start again.
  bool settled() const { return training_.live() || declared() || source_.mode != StepMode::automatic; }
  // End of the last thing that belonged to a step: where the last step ends.
  u64 last_work() const { return line_.last_work(); }
  // It matters of which optimizer the next update is. Read without the lock, too: an old answer does no harm.
  bool wants_optimizer() const { return finds_updates() && training_.wants_optimizer(); }
  // False when a backward node would change nothing, so that the hot path can skip the lock.
  bool wants_backward() const { return !training_.ignores_backward() || source_.mode == StepMode::backward; }

 private:
  bool declared() const { return in_profiler_step_ || api_; }
  bool is_inside() const { return in_optimizer_ || in_backward_ || capturing_; }
  bool automatic() const { return source_.mode == StepMode::automatic && !declared(); }
  bool finds_updates() const { return automatic() || (source_.mode == StepMode::optimizer && !declared()); }
  bool by_pattern() const { return source_.mode == StepMode::range || source_.mode == StepMode::nvtx; }
  bool counts_passes() const { return source_.mode == StepMode::backward && !declared(); }
  void work(u64 t);
  void sign_of_closure();
  void backward(u64 t, bool new_pass);
  void sign_by_passes(u64 t);
  void update(u64 begin, u64 end, u64 optimizer);
  void declared_edge(u64 t, StepBy by);

  StepLine line_;
  TrainingSteps training_;
  InferenceSteps inference_;

  int in_optimizer_ = 0;
  bool in_backward_ = false;
  bool capturing_ = false;
  u64 optimizer_begin_ = 0, optimizer_ = 0;
  bool closure_ = false;         // a forward or backward pass was seen in the optimizer that runs
  u64 updated_in_backward_ = 0;  // start of the first optimizer that ran inside the backward pass
  bool optimizers_exist_ = true;
  bool draw_made_step_ = false;  // TPROF_STEP=dataloader: the fetch that is under way started one
  u64 drawn_ = 0;                // when the newest fetch began
  u64 replay_ = 0;               // when the newest replay began
  i64 passes_ = 0;               // TPROF_STEP=backward: in the current step
  bool in_profiler_step_ = false;
  bool in_range_ = false;  // the range that began the current step has not ended
  bool api_ = false;
  StepSource source_;
  i64 newest_sequence_ = -1;  // autograd runs the newest nodes first: a newer one starts another pass
  u64 start_ = 0;
};

}  // namespace tprof
