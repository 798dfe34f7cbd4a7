// The line of steps found so far: the machines of steps.h write it, the session follows it. A step is tentative from
// its start until something proves that it is a step. Until then it can be withdrawn; after that the step before it
// goes on as if nothing had happened. The start of the newest step can move to a later time. Between steps, or inside
// one, there are stretches: evaluations, and inference during a training.
#pragma once
#include "record/record.h"

namespace tprof {

class StepSink {
 public:
  // Step `number` starts at `ticks`, tentatively. The one before ends there, unless a stretch has ended it already.
  virtual void step_begins(i64 number, u64 ticks, StepBy by) = 0;
  // The current step: its start moved; it is withdrawn, and step `number` (-1: none) goes on; it is confirmed.
  virtual void step_moves(u64 ticks) = 0;
  virtual void step_withdrawn(i64 number) = 0;
  virtual void step_confirmed() = 0;
  // What shows where the current step ends if no other one follows in its loop: see StepRecord::work_ticks and
  // loop_end_ticks. Each may come again with a later time.
  virtual void step_worked(u64 ticks, bool update) = 0;
  virtual void loop_ended(u64 ticks) = 0;
  // Counting starts again: the next step has `number` and starts at `ticks`, which lies in the past. What was counted
  // from that number on is void. `anew`: that was more than the step that is about to start.
  virtual void count_restarts(RestartWhy why, i64 number, u64 ticks, bool anew) = 0;
  // Stretches. `inside`: inside the current step, which goes on; otherwise that step ended at `ticks`.
  virtual void stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) = 0;
  // One more batch, or call where there are no batches, starts (or started) at `ticks`.
  virtual void stretch_goes_on(u64 ticks, u32 batches, u32 calls) = 0;
  virtual void stretch_ends(u64 ticks) = 0;
  virtual void stretch_withdrawn() = 0;

 protected:
  ~StepSink() = default;
};

class StepLine {
 public:
  void reset(StepSink* sink);

  // A step starts at `t`, which confirms a tentative one before it.
  void begin(u64 t, StepBy by);
  void move(u64 t);
  void withdraw();
  // At `t` the current step has proven to be one.
  void confirm(u64 t);
  void restart(RestartWhy why, i64 number, u64 t, StepBy by);

  void begin_stretch(StretchKind kind, u64 t, bool inside);
  void go_on(u64 t, u32 batches, u32 calls);  // with the stretch
  void end_stretch(u64 t);                    // `t` is its start: it is withdrawn

  // Something that belongs to a step or a stretch ended at `t`.
  void work(u64 t) { last_work_ = t; }
  // ... and it was an update of the current step, or in an inference a call that has returned. 0: nobody knows when
  // it ended.
  void update(u64 t, bool another = true);  // `another`: not the one before, which ended at `t` only
  void call(u64 t);
  // The iteration of the current step ended at `t`, or its loop has no more of them, which showed at `t`.
  void loop_ended(u64 t);
  void loop_goes_on();  // after all

  i64 number() const { return number_; }  // of the current step, -1 before the first
  StepBy by() const { return by_; }
  u64 edge() const { return edge_; }  // its start
  bool tentative() const { return tentative_; }
  bool in_stretch() const { return stretch_ != StretchKind{}; }
  u64 last_work() const { return last_work_; }
  // The signs disagreed about what a step is: all steps from now on are marked so.
  bool guessed() const { return guessed_; }
  void guess() { guessed_ = true; }

 private:
  StepSink* sink_ = nullptr;
  i64 number_ = -1;
  u64 edge_ = 0, previous_edge_ = 0, last_work_ = 0;
  u64 last_update_ = 0, last_loop_end_ = 0;
  StepBy by_ = StepBy::none, previous_by_ = StepBy::none;
  bool tentative_ = false, guessed_ = false;
  StretchKind stretch_{};
  u64 stretch_begin_ = 0;
  u32 batches_ = 0, calls_ = 0;  // of the stretch
  i64 evaluations_ = 0, inferences_ = 0;
};

}  // namespace tprof
