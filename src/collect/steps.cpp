#include "collect/steps.h"

namespace tprof {

void StepDetector::reset(const StepSource& source, StepSink* sink, u64 start) {
  *this = StepDetector{};
  source_ = source;
  sink_ = sink;
  start_ = start;
}

void StepDetector::load_begins(u64 t) {
  if (source_.mode == StepMode::dataloader) {
    if (number_ < 0 || loads_ > 0) begin(t, StepBy::option, false);
    return;
  }
  if (source_.mode == StepMode::backward && passes_ >= source_.every) begin(t, StepBy::option, false);
  if (!automatic()) return;
  bool only_forwards = loads_ == 0 && backwards_ == 0 && updates_ == 0;
  if (number_ < 0)
    begin(t, StepBy::dataloader, false);
  else if (tentative_)
    settle();
  else if (updates_ > 0 || (backwards_ == 0 && loads_ > 0))
    begin(t, StepBy::dataloader, false);
  else if (only_forwards && number_ == 0)
    move(t);  // what came before the first batch was setup
  else if (only_forwards && forwards_ > 0)
    begin(t, StepBy::dataloader, false);
  provisional_count_ = 0;
}

void StepDetector::load_ends(u64 t, bool got_batch) {
  if (!got_batch) return;
  loads_++;
  trained_ = true;
  work(t);
}

void StepDetector::module_called(u64 t, const void* module, bool inference) {
  if (in_optimizer_) {  // a closure: the optimizer around it is a step of its own
    if (merging_) settle();
    forwards_++;
    return;
  }
  if (source_.mode == StepMode::backward && passes_ >= source_.every && !tentative_)
    begin(t, StepBy::option, false);
  settle();
  if (automatic()) {
    if (number_ < 0) begin(t, StepBy::forward, false);
    bool only_forwards = loads_ == 0 && backwards_ == 0 && updates_ == 0;
    if (update_end_) {
      u64 edge = update_end_;
      update_end_ = 0;
      keep_provisional(edge, StepBy::optimizer);
    } else if (only_forwards && module == anchor_) {
      if (anchor_inference_ || forward_only_)
        begin(t, StepBy::forward, false);
      else if (!trained_)
        keep_provisional(t, StepBy::forward);
    }
  }
  if (!anchor_) anchor_ = module;
  if (module == anchor_) anchor_inference_ = inference;
  forwards_++;
  work(t);
}

void StepDetector::backward_node(u64 t, i64 sequence) {
  // AccumulateGrad carries the largest number there is and tells nothing.
  bool new_pass = sequence > newest_sequence_ && sequence < INT64_MAX / 2;
  if (new_pass) newest_sequence_ = sequence;
  backward(t, new_pass);
}

void StepDetector::backward_called(u64 t) { backward(t, true); }

void StepDetector::backward(u64 t, bool new_pass) {
  if (in_optimizer_) {
    if (merging_) settle();
    backwards_++;
    return;
  }
  if (source_.mode == StepMode::backward && new_pass) {
    if (number_ < 0 || (passes_ >= source_.every && !tentative_)) begin(t, StepBy::option, false);
    settle();
    passes_++;
  }
  settle();
  if (automatic()) {
    if (number_ < 0) begin(t, StepBy::backward, false);
    if (update_end_ && new_pass) {
      u64 edge = update_end_;
      update_end_ = 0;
      keep_provisional(edge, StepBy::optimizer);
    }
    if (provisional_count_ && provisional_[0].by == StepBy::forward) provisional_count_ = 0;
  }
  backwards_++;
  trained_ = true;
  forward_only_ = false;
  work(t);
}

void StepDetector::optimizer_begins(u64 t) {
  if (in_optimizer_++) return;
  if (number_ < 0 && (automatic() || source_.mode == StepMode::optimizer))
    begin(t, source_.mode == StepMode::optimizer ? StepBy::option : StepBy::optimizer, false);
  merging_ = tentative_;
}

void StepDetector::optimizer_ends(u64 t) {
  if (in_optimizer_ == 0 || --in_optimizer_) return;
  trained_ = true;
  if (merging_ && tentative_) {  // another optimizer of the same update
    merging_ = false;
    last_work_ = t;
    move(t);
    return;
  }
  merging_ = false;
  updates_++;
  work(t);
  if (source_.mode == StepMode::optimizer)
    begin(t, StepBy::option, false);
  else if (source_.mode == StepMode::backward && passes_ >= source_.every)
    begin(t, StepBy::option, true);
  else if (automatic())
    edge_behind_update(t);
}

void StepDetector::zero_grad_begins(u64 t) {
  if (in_optimizer_ || !automatic()) return;
  if (number_ < 0) begin(t, StepBy::optimizer, false);
  if (number_ == 0 && !worked_) zero_grad_first_ = true;
}

void StepDetector::zero_grad_ends(u64 t) {
  if (tentative_ && !in_optimizer_ && !zero_grad_first_) move(t);
}

void StepDetector::scaler_updated(u64 t) {
  if (!automatic() || in_optimizer_) return;
  trained_ = true;
  if (tentative_) {
    last_work_ = t;
    move(t);
  } else if (number_ >= 0) {  // the scaler skipped the optimizer: an update all the same
    updates_++;
    work(t);
    edge_behind_update(t);
  }
}

void StepDetector::profiler_step_begins(u64 t) {
  in_profiler_step_ = true;
  if (source_.mode == StepMode::automatic && !api_) declared_edge(t, StepBy::profiler_step);
}

void StepDetector::profiler_step_ends(u64 t) {
  in_profiler_step_ = false;
  last_work_ = t;
}

void StepDetector::api_step(u64 t) {
  if (source_.given) return;
  api_ = true;
  source_.mode = StepMode::automatic;
  if (number_ < 0) begin(start_, StepBy::api, false);
  declared_edge(t, StepBy::api);
}

void StepDetector::range_matched(u64 t) {
  if (by_pattern()) begin(t, StepBy::option, false);
}

void StepDetector::label_ends(u64 t, u64 begin) {
  if (tentative_ && !in_optimizer_ && begin >= previous_edge_ && begin < edge_) move(t);
}

u64 StepDetector::before_labels(u64 t, const u64* begins, u32 count) const {
  if (number_ < 0) return count ? begins[count - 1] : t;  // an outer label may be the whole loop
  for (u32 i = 0; i < count; i++)
    if (begins[i] > edge_ && begins[i] > last_work_) return begins[i];
  return t;
}

void StepDetector::move(u64 t) {
  edge_ = t;
  sink_->step_moves(t);
}

void StepDetector::begin(u64 t, StepBy by, bool tentative) {
  settle();
  number_++;
  previous_edge_ = edge_;
  edge_ = t;
  last_by_ = by;
  loads_ = forwards_ = backwards_ = updates_ = 0;
  passes_ = 0;
  anchor_ = nullptr;
  update_end_ = 0;
  worked_ = false;
  provisional_count_ = 0;
  tentative_ = tentative;
  sink_->step_begins(number_, t, by, tentative);
  if (by_pattern()) work(t);
}

// An edge that the program states. If the detector has just placed one of its own there, that one is meant. The
// step that ends at a stated edge is one, whatever was in it; what follows the last needs a sign of work.
void StepDetector::declared_edge(u64 t, StepBy by) {
  if (number_ >= 0 && (tentative_ || (last_by_ != by && !worked_))) {
    move(t);
    settle();
    last_by_ = by;
  } else {
    work(t);
    begin(t, by, false);
  }
}

// After an update: a step that drew a batch waits for the next batch, any other ends here.
void StepDetector::edge_behind_update(u64 t) {
  if (loads_ > 0)
    update_end_ = t;
  else
    begin(t, StepBy::optimizer, true);
}

void StepDetector::settle() {
  if (!tentative_) return;
  tentative_ = merging_ = false;
  sink_->step_confirmed();
}

void StepDetector::work(u64 t) {
  last_work_ = t;
  if (worked_ || number_ < 0) return;
  worked_ = true;
  sink_->step_works();
}

void StepDetector::keep_provisional(u64 t, StepBy by) {
  provisional_[provisional_count_++] = {t, by};
  if (provisional_count_ < provisional_limit(by)) return;
  Provisional edges[4];
  int count = provisional_count_;
  for (int i = 0; i < count; i++) edges[i] = provisional_[i];
  forward_only_ = by == StepBy::forward;
  for (int i = 0; i < count; i++) {
    begin(edges[i].ticks, by, false);
    work(edges[i].ticks);
  }
}

}  // namespace tprof
