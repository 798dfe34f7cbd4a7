#include "collect/steps/step_line.h"

namespace tprof {

void StepLine::reset(StepSink* sink) {
  *this = StepLine{};
  sink_ = sink;
}

void StepLine::begin(u64 t, StepBy by) {
  if (tentative_) confirm(last_work_);
  number_++;
  previous_edge_ = edge_;
  previous_by_ = by_;
  edge_ = t;
  by_ = by;
  tentative_ = true;
  sink_->step_begins(number_, t, by);
  // The step begins in the past: what was seen since then is its own.
  if (last_update_ > t) sink_->step_worked(last_update_, true);
  if (last_loop_end_ > t) sink_->loop_ended(last_loop_end_);
}

void StepLine::update(u64 t, bool another) {
  if (t) work(t);
  last_update_ = t;
  sink_->step_worked(t, another);
}

void StepLine::call(u64 t) {
  work(t);
  bool is_over = last_loop_end_ > edge_;
  if (!is_over) sink_->step_worked(t, false);
}

void StepLine::loop_ended(u64 t) {
  last_loop_end_ = t;
  sink_->loop_ended(t);
}

void StepLine::move(u64 t) {
  edge_ = t;
  sink_->step_moves(t);
}

void StepLine::withdraw() {
  if (!tentative_) return;
  tentative_ = false;
  number_--;
  edge_ = previous_edge_;
  by_ = previous_by_;
  sink_->step_withdrawn(number_);
}

void StepLine::confirm(u64 t) {
  last_work_ = t;
  if (!tentative_) return;
  tentative_ = false;
  sink_->step_confirmed();
}

void StepLine::restart(RestartWhy why, i64 number, u64 t, StepBy by) {
  if (why == RestartWhy::training) guessed_ = false;
  sink_->count_restarts(why, number, t, number_ > number);
  tentative_ = false;
  number_ = number - 1;
  edge_ = t;
  begin(t, by);
}

void StepLine::loop_goes_on() {
  if (last_loop_end_) loop_ended(0);
}

void StepLine::begin_stretch(StretchKind kind, u64 t, bool inside) {
  stretch_ = kind;
  stretch_begin_ = t;
  batches_ = calls_ = 0;
  i64& count = kind == StretchKind::evaluation ? evaluations_ : inferences_;
  sink_->stretch_begins(kind, count++, t, inside);
}

void StepLine::go_on(u64 t, u32 batches, u32 calls) {
  batches_ += batches;
  calls_ += calls;
  sink_->stretch_goes_on(t, batches_, calls_);
}

void StepLine::end_stretch(u64 t) {
  if (!in_stretch()) return;
  StretchKind kind = stretch_;
  stretch_ = {};
  if (t > stretch_begin_) return sink_->stretch_ends(t);
  (kind == StretchKind::evaluation ? evaluations_ : inferences_)--;
  sink_->stretch_withdrawn();
}

}  // namespace tprof
