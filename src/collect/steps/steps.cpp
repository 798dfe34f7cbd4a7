#include "collect/steps/steps.h"

#include <utility>

namespace tprof {

void StepDetector::reset(const StepSource& source, StepSink* sink, u64 start) {
  *this = StepDetector{};
  source_ = source;
  start_ = start;
  line_.reset(sink);
  training_.reset(&line_);
  inference_.reset(&line_);
  if (source.mode == StepMode::optimizer) training_.ignore_draws();
}

void StepDetector::forget() {
  training_.stand_aside();
  if (!settled()) inference_.forget();
  in_optimizer_ = 0;
  in_backward_ = capturing_ = false;
  updated_in_backward_ = 0;
}

bool StepDetector::between_steps() const {
  if (line_.number() < 0) return true;
  if (!finds_updates()) return false;
  return training_.live() ? training_.between_steps() : !inference_.waits();
}

void StepDetector::optimizers_exist(bool exist) {
  optimizers_exist_ = exist;
  if (exist) inference_.expect_training();
}

void StepDetector::program_ends() {
  if (finds_updates()) training_.program_ends();
}

// Something that belongs to a step was done: where edges are stated, that proves the step.
void StepDetector::work(u64 t) {
  if (declared())
    line_.confirm(t);
  else
    line_.work(t);
}

// ---------------------------------------------------------------- batches and forwards

void StepDetector::loader_opened(u64 t) {
  if (is_inside()) return;
  training_.loader_opened(t);
  inference_.loader_opened(t);
}

void StepDetector::draw_begins(u64 t, const void* iterator) {
  if (is_inside()) return;
  drawn_ = t;
  if (source_.mode == StepMode::dataloader && !declared()) {
    draw_made_step_ = !line_.tentative();
    if (draw_made_step_) line_.begin(t, StepBy::option);
  }
  sign_by_passes(t);
  if (!finds_updates()) return;
  training_.draw_begins(t, iterator);
  if (!training_.live() && automatic()) inference_.draw_begins(t, iterator);
}

void StepDetector::draw_ends(u64 t, bool got_batch) {
  if (is_inside()) return;
  if (got_batch) work(t);
  if (source_.mode == StepMode::dataloader && !declared()) {
    if (got_batch)
      line_.confirm(t);
    else if (draw_made_step_)
      line_.withdraw(), line_.loop_ended(drawn_);
  }
  if (!finds_updates()) return;
  training_.draw_ends(got_batch);
  if (!training_.live() && automatic()) inference_.draw_ends(got_batch);
}

void StepDetector::module_called(u64 t, const ModuleCall& call) {
  if (in_backward_ || capturing_) return;
  if (in_optimizer_) return sign_of_closure();
  work(t);
  sign_by_passes(t);
  if (!finds_updates()) return;
  training_.module_called(t, call);
  if (!training_.live() && automatic()) inference_.module_called(t, call);
}

void StepDetector::module_returned(u64 t) {
  if (!is_inside() && finds_updates() && !training_.live()) line_.call(t);
}

// ---------------------------------------------------------------- backward passes

void StepDetector::backward_node(u64 t, i64 sequence) {
  // AccumulateGrad has the largest possible number, which says nothing.
  bool new_pass = sequence > newest_sequence_ && sequence < INT64_MAX / 2;
  if (new_pass) newest_sequence_ = sequence;
  if (!new_pass && !wants_backward()) return;
  backward(t, new_pass);
  if (new_pass && finds_updates()) training_.backward_ended(0);
}

void StepDetector::backward_begins(u64 t) {
  backward(t, true);
  in_backward_ = true;
  updated_in_backward_ = 0;
}

void StepDetector::backward_ends(u64 t) {
  in_backward_ = false;
  u64 updated = std::exchange(updated_in_backward_, 0);
  if (capturing_) return;
  if (updated)
    update(updated, t, optimizer_);
  else if (finds_updates())
    training_.backward_ended(t);
}

void StepDetector::backward(u64 t, bool new_pass) {
  if (in_backward_ || capturing_) return;
  if (in_optimizer_) return sign_of_closure();
  if (!new_pass) return;
  work(t);
  if (counts_passes()) {
    sign_by_passes(t);
    if (line_.number() < 0) line_.begin(t, StepBy::option);
    line_.confirm(t);
    passes_++;
  }
  if (!finds_updates()) return;
  training_.backward(t);
  if (!training_.live() && automatic()) training_.start(optimizers_exist_);
}

// TPROF_STEP=backward:N: after the last pass of a step the next one starts.
void StepDetector::sign_by_passes(u64 t) {
  if (!counts_passes() || passes_ < source_.every) return;
  passes_ = 0;
  line_.begin(t, StepBy::option);
}

// ---------------------------------------------------------------- updates

void StepDetector::optimizer_begins(u64 t, u64 optimizer) {
  if (in_optimizer_++) return;
  optimizer_begin_ = t;
  optimizer_ = optimizer;
  closure_ = false;
  if (in_backward_ && !updated_in_backward_) updated_in_backward_ = t;
}

// A forward or backward pass inside an optimizer does not belong to the update before.
void StepDetector::sign_of_closure() {
  if (closure_) return;
  closure_ = true;
  if (finds_updates()) training_.closure_began(optimizer_begin_);
}

void StepDetector::optimizer_ends(u64 t) {
  if (in_optimizer_ == 0 || --in_optimizer_ || capturing_) return;
  if (in_backward_)
    line_.work(t);
  else
    update(optimizer_begin_, t, optimizer_);
}

void StepDetector::scaler_updated(u64 t) {
  if (!in_optimizer_ && !capturing_) update(t, t, 0);
}

void StepDetector::graph_begins(u64 t) {
  replay_ = t;
  capturing_ = false;  // a capture ended in a way that was not seen
}

void StepDetector::graph_replayed(u64 t) {
  work(t);
  if (finds_updates() && !is_inside()) training_.graph_replayed(replay_, t);
}

void StepDetector::update(u64 begin, u64 end, u64 optimizer) {
  work(end);
  if (declared()) training_.known();  // the program may stop stating where its steps are
  if (!finds_updates()) return;
  if (training_.update(begin, end, optimizer)) training_.start(true);
}

void StepDetector::gradients_cleared(u64 t) {
  if (!is_inside() && finds_updates()) training_.cleared(t);
}

// ---------------------------------------------------------------- stated edges

void StepDetector::profiler_step_begins(u64 t) {
  in_profiler_step_ = true;
  if (source_.mode == StepMode::automatic && !api_) declared_edge(t, StepBy::profiler_step);
}

void StepDetector::profiler_step_ends(u64 t) {
  in_profiler_step_ = false;
  line_.work(t);
  if (line_.by() == StepBy::profiler_step) line_.loop_ended(t);
}

void StepDetector::api_step(u64 t) {
  if (source_.given) return;
  api_ = true;
  source_.mode = StepMode::automatic;
  if (line_.number() < 0) line_.begin(start_, StepBy::api);
  declared_edge(t, StepBy::api);
}

void StepDetector::range_matched(u64 t) {
  if (!by_pattern()) return;
  line_.begin(t, StepBy::range);
  line_.confirm(t);
  in_range_ = true;
}

// Of ranges that lie in each other, each makes a step: the innermost one ends the last of them.
void StepDetector::range_ended(u64 t) {
  if (std::exchange(in_range_, false)) line_.loop_ended(t);
}

// An edge that the program states. If the detector has just placed an edge of its own there, it is the same one. What
// ends at a stated edge is a step, whatever it holds; what follows the last edge needs a sign of work to be one.
void StepDetector::declared_edge(u64 t, StepBy by) {
  training_.stand_aside();
  inference_.edge_stated();
  optimizer_begin_ = t;  // if one runs now, it counts from here
  if (updated_in_backward_) updated_in_backward_ = t;
  if (line_.by() == by)
    line_.confirm(t);
  else
    line_.withdraw();  // if it is tentative
  line_.begin(t, by);
}

u64 StepDetector::before_labels(u64 t, const u64* begins, u32 count) const {
  if (line_.number() < 0) return count ? begins[count - 1] : t;  // an outer label may be the whole loop
  for (u32 i = 0; i < count; i++)
    if (begins[i] > line_.edge() && begins[i] > line_.last_work()) return begins[i];
  return t;
}

}  // namespace tprof
