#include "collect/steps/inference_steps.h"

namespace tprof {

void InferenceSteps::reset(StepLine* line) {
  *this = InferenceSteps{};
  line_ = line;
}

void InferenceSteps::forget() {
  if (waiting_) line_->withdraw();
  reset(line_);
}

void InferenceSteps::begin(u64 t, StepBy by) {
  line_->begin(t, by);
  forwards_.count = others_.count = 0;
  waiting_ = false;
}

// True: enough of them have come; all of them are steps now.
bool InferenceSteps::keep(Kept& kept, u64 t, StepBy by, u32 limit) {
  kept.at[kept.count++] = t;
  u32 count = kept.count;
  if (count < limit) return false;
  for (u32 i = 0; i < count; i++) {
    begin(kept.at[i], by);
    line_->confirm(kept.at[i]);
  }
  return true;
}

void InferenceSteps::draw_begins(u64 t, const void* iterator) {
  u64 at = opened_ ? opened_ : t;
  opened_ = 0;
  drawing_ = iterator;
  drawn_ = t;
  if (waiting_) {
    if (spent_) line_->move(at);  // a whole loader was read, perhaps for statistics
    spent_ = false;
    return;
  }
  if (loader_ && iterator != loader_ && !dry_) {
    if (!keep(others_, at, StepBy::inference_batch, kPatience)) return;
    loader_ = iterator;
    line_->guess();
    return;
  }
  if (!loader_ && line_->number() == 0 && line_->by() == StepBy::forward) {
    line_->move(at);  // what came before the first batch was set-up
    forwards_.count = others_.count = 0;
  } else {
    begin(at, StepBy::inference_batch);
    empty_ = true;
  }
  waiting_ = true;
}

void InferenceSteps::draw_ends(bool got_batch) {
  bool leads = drawing_ == loader_;
  if (got_batch) {
    empty_ = false;
    if (!leads && (!loader_ || dry_)) loader_ = drawing_, dry_ = false, ahead_ = 0, leads = true;
    if (leads) ahead_++;
    return;
  }
  if (leads) dry_ = true;
  spent_ = waiting_;
  if (empty_) {
    empty_ = waiting_ = false;
    line_->withdraw();
  }
  if (leads && ahead_ == 0) line_->loop_ended(drawn_);  // else it is drawn from in advance
}

void InferenceSteps::module_called(u64 t, const ModuleCall& call) {
  opened_ = 0;
  if (waiting_) {
    waiting_ = spent_ = false;
    ahead_--;
    line_->confirm(t);
  } else if (!loader_ || dry_) {
    call_without_batch(t, call);
  }
  line_->work(t);
}

void InferenceSteps::call_without_batch(u64 t, const ModuleCall& call) {
  if (dry_ && ahead_ > 0) {  // the last batches of a loader that is drawn from in advance
    ahead_--;
    begin(t, StepBy::inference_batch);
    return line_->confirm(t);
  }
  bool takes_over = !module_ || (call.parameter && !module_has_parameters_);
  if (takes_over) {
    bool from_another = module_ != nullptr;
    module_ = call.module;
    module_has_parameters_ = call.parameter;
    if (from_another) return;  // the step that is under way belongs to that one
  }
  if (call.module != module_ || loader_) {  // another module, or the loader is exhausted
    if (others_.count > 0 && call.module != other_) return;
    other_ = call.module;
    if (!keep(others_, t, StepBy::forward, kPatience)) return;
    module_ = call.module;
    loader_ = nullptr;
    return line_->guess();
  }
  if (line_->number() >= 0 && call.gradients && call.training) {
    if (keep(forwards_, t, StepBy::forward, forwards_wait_for_)) forwards_wait_for_ = 1;
    return;
  }
  begin(t, StepBy::forward);
  line_->confirm(t);
}

}  // namespace tprof
