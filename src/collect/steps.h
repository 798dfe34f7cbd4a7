// Finds the steps of a training or inference loop from the few events that are visible in every phase, so that a
// step has the same number with and without a schedule. A pure state machine: tokens in, edges out; no locks, no
// clock, no allocation. One instance per process, fed under one lock.
//
// Where the edges come from, first that applies (StepBy):
//   api            tprof_step() ends a step and begins the next.
//   profiler_step  while a ProfilerStep# range of the script is open, its begins are the edges.
//   option         TPROF_STEP names one source; nothing else cuts.
//   dataloader     begin of DataLoader.__next__, if since the last edge there was an update, or a batch without
//                  any backward (inference). Otherwise it is a micro-batch of gradient accumulation, or follows
//                  a __next__ that raised StopIteration.
//   optimizer      loops whose current step drew no batch: end of the last Optimizer.step (or of
//                  GradScaler.update, also when it skipped the step, or of a zero_grad right behind it).
//   forward        nothing but forwards: the first top-level nn.Module is called again in inference (no grad, or
//                  eval mode).
// The edge behind an optimizer is tentative: it holds at once (so that no operator is missed) but moves when
// another optimizer follows with no forward or backward between.
//
// Two kinds of loop look like something else at first: many updates on one batch drawn once (like a GAN), and
// repeated forwards in training mode (like a siamese net). Their edges are kept as provisional; after a few of them
// (provisional_limit) with no sign of the other meaning they become steps after the fact.
//
// Labels (record_function ranges of the script) are kept whole: a forward or batch begins a step where the label
// around it began, and the edge behind an optimizer moves to the end of the label around it.
#pragma once
#include "base/options.h"
#include "record/record.h"

namespace tprof {

class StepSink {
 public:
  // Step `number` begins at `ticks` (the one before ends there). Numbers are consecutive from 0.
  virtual void step_begins(i64 number, u64 ticks, StepBy by, bool tentative) = 0;
  // The begin of the current step moved to `ticks` (a tentative edge, or setup before the loop found out late).
  virtual void step_moves(u64 ticks) = 0;
  // The tentative edge is final.
  virtual void step_confirmed() = 0;
  // Something of a step happened in the current step (once per step).
  virtual void step_works() = 0;

 protected:
  ~StepSink() = default;
};

class StepDetector {
 public:
  // `start` is when watching began: where step 0 begins if the first thing ever heard is tprof_step().
  void reset(const StepSource& source, StepSink* sink, u64 start);

  // Tokens, in time order.
  void load_begins(u64 t);
  void load_ends(u64 t, bool got_batch);
  void module_called(u64 t, const void* module, bool inference);  // top-level calls only
  void backward_node(u64 t, i64 sequence);                        // begin of an autograd node
  void backward_called(u64 t);                                    // torch.autograd.backward or grad begins
  void optimizer_begins(u64 t);
  void optimizer_ends(u64 t);
  void zero_grad_begins(u64 t);
  void zero_grad_ends(u64 t);
  void scaler_updated(u64 t);  // end of an enabled GradScaler.update
  void profiler_step_begins(u64 t);
  void profiler_step_ends(u64 t);
  void api_step(u64 t);
  void range_matched(u64 t);  // begin of a range that matches TPROF_STEP=range:REGEX or nvtx:REGEX
  void label_ends(u64 t, u64 begin);  // end of any other user range

  // Where an edge at `t` belongs, given the begins of the labels open on the thread, outermost first.
  u64 before_labels(u64 t, const u64* begins, u32 count) const;

  i64 number() const { return number_; }  // of the current step, -1 before the first
  StepMode mode() const { return source_.mode; }
  bool tentative() const { return tentative_; }  // the current step's begin may still move
  // End of the last thing that belonged to a step: where the last step ends.
  u64 last_work() const { return last_work_; }
  // False when a backward node would change nothing, so that the hot path can skip the lock.
  bool wants_backward() const {
    return backwards_ == 0 || tentative_ || update_end_ || source_.mode == StepMode::backward;
  }


 private:
  bool automatic() const { return source_.mode == StepMode::automatic && !in_profiler_step_ && !api_; }
  bool by_pattern() const { return source_.mode == StepMode::range || source_.mode == StepMode::nvtx; }
  void begin(u64 t, StepBy by, bool tentative);
  void declared_edge(u64 t, StepBy by);
  void edge_behind_update(u64 t);
  void backward(u64 t, bool new_pass);
  void settle();
  void work(u64 t);
  void keep_provisional(u64 t, StepBy by);
  void move(u64 t);
  static int provisional_limit(StepBy by) { return by == StepBy::optimizer ? 2 : 4; }

  // What nearly every token touches, together: caches are cold when one comes.
  StepSink* sink_ = nullptr;
  i64 number_ = -1;
  u64 last_work_ = 0;
  u64 edge_ = 0;           // where the current step begins
  u64 previous_edge_ = 0;  // where the one before began
  u64 update_end_ = 0;     // end of the last update of a step that drew a batch; 0: no update since
  int in_optimizer_ = 0;
  bool tentative_ = false;
  bool merging_ = false;  // inside an optimizer that began on a tentative edge
  bool worked_ = false;   // since the current step began
  bool trained_ = false;  // a batch, backward or update was ever seen

  // Since the current step began.
  u32 loads_ = 0, forwards_ = 0, backwards_ = 0, updates_ = 0;
  const void* anchor_ = nullptr;   // the first top-level module called
  i64 passes_ = 0;                 // backward passes
  bool anchor_inference_ = false;  // how it was called last

  bool zero_grad_first_ = false;  // this loop clears gradients before its forward, not behind its update
  bool forward_only_ = false;     // forwards in training mode turned out to be all there is
  bool in_profiler_step_ = false;
  bool api_ = false;
  StepBy last_by_ = StepBy::none;
  int provisional_count_ = 0;
  StepSource source_;
  i64 newest_sequence_ = -1;  // autograd nodes run newest first: a newer one begins another pass
  u64 start_ = 0;

  struct Provisional {
    u64 ticks;
    StepBy by;  // all of one kind
  } provisional_[4] = {};
};

}  // namespace tprof
