#include "collect/steps/training_steps.h"

#include <algorithm>

namespace tprof {

void TrainingSteps::reset(StepLine* line) {
  *this = TrainingSteps{};
  line_ = line;
}

void TrainingSteps::stand_aside() {
  if (live_ && state_ == State::tentative) line_->withdraw();
  end_stretch(line_->last_work());
  state_ = State::gap;
  step_ = previous_ = {};
  group_ = opened_ = 0;
  quiet_count_ = 0;
  split_from_ = -1;
}

// ---------------------------------------------------------------- batches

bool TrainingSteps::drawn(const void* iterator) const {
  return std::find(iterators_, iterators_ + iterator_count_, iterator) != iterators_ + iterator_count_;
}

// A new iterator may have the address of the one that was evaluated.
void TrainingSteps::loader_opened(u64 t) {
  opened_ = t;
  evaluating_ = nullptr;
}

void TrainingSteps::draw_begins(u64 t, const void* iterator) {
  if (!draws_count_) return;
  bool is_new = opened_ != 0;
  u64 begin = is_new ? opened_ : t;
  opened_ = 0;
  sign_without_update(begin, Sign::draw);
  bool another = group_ && (is_new || !drawn(iterator));
  if (group_ && calls_ > 0 && (!another || eval_calls_)) {
    evaluated();
    if (is_new) evaluating_ = nullptr;
  } else if (another && calls_ == 0 && spent_) {  // a whole loader was read, perhaps for statistics
    group_ = 0;
    if (shown_) withdraw();
  } else if (group_) {
    if (another && iterator_count_ < kMaxIterators) iterators_[iterator_count_++] = iterator;
    return;
  }
  open_group(begin, iterator);
}

void TrainingSteps::draw_ends(bool got_batch) {
  if (!draws_count_ || !group_) return;
  if (got_batch) {
    batches_++;
    return;
  }
  bool evaluated = evaluating_ && drawn(evaluating_);
  if (!evaluated) dry_ = true, dry_steps_ = 0;
  evaluating_ = nullptr;
  spent_ = true;
  if (batches_ > 0) return;
  group_ = 0;
  if (shown_) withdraw();
}

void TrainingSteps::open_group(u64 t, const void* iterator) {
  group_ = t;
  iterators_[0] = iterator;
  iterator_count_ = 1;
  batches_ = calls_ = 0;
  eval_calls_ = shown_ = spent_ = false;
  // The next batch of a loader that is being evaluated is most likely evaluated too, so no window should open for it.
  bool more_of_the_same = line_->in_stretch() && iterator == evaluating_;
  if (state_ == State::gap && !more_of_the_same) {
    begin(t, Sign::draw);
    shown_ = true;
  } else if (state_ == State::tentative && !live_) {  // what came before the first batch was set-up
    begin_ = t;
    step_.began_with = Sign::draw;
    clears_first_ = false;
  }
}

// The batches of the group are trained on.
void TrainingSteps::close_group() {
  u64 t = group_;
  group_ = 0;
  end_stretch(t);
  if (state_ == State::gap) begin(t, Sign::draw);
  if (state_ == State::tentative && step_.began_with == Sign::draw) {
    if (previous_.draws) updates_per_batch_ = previous_.updates;
    most_updates_ = std::max(most_updates_, updates_per_batch_);
    if (split_from_ >= 0) recount();
  }
  step_.draws = true;
  dry_ = false;
}

void TrainingSteps::evaluated() {
  u64 t = group_;
  group_ = 0;
  if (state_ == State::tentative) withdraw();
  if (!line_->in_stretch()) line_->begin_stretch(StretchKind::evaluation, t, state_ == State::working);
  evaluating_ = iterators_[0];
  last_call_ = 0;
  line_->go_on(t, batches_, calls_);
}

// ---------------------------------------------------------------- forwards

void TrainingSteps::module_called(u64 t, const ModuleCall& call) {
  opened_ = 0;
  line_->work(t);
  if (group_) {
    calls_++;
    if (!call.training && !call.gradients && knows(call)) eval_calls_ = true;
  } else if (call.gradients && (call.training || !knows(call))) {
    sign_without_update(t, Sign::forward);
    if (quiet_count_ && state_ == State::tentative) quiet_calls_were_an_evaluation();
    sign(t, Sign::forward);
  } else if (knows(call)) {
    quiet_call(t, call);
  }
  if (!call.gradients || state_ != State::tentative) return;
  if (!step_.first) step_.first = call.module;
  if (call.has_parameters) step_.last = call.module;
}

// A module that trains is called without a batch, in eval mode or without gradients.
void TrainingSteps::quiet_call(u64 t, const ModuleCall& call) {
  bool evaluation = !call.training;
  if (line_->in_stretch()) {
    line_->go_on(t, 0, 1);
    last_call_ = call.gradients ? t : 0;
    return;
  }
  if (!evaluation && state_ != State::gap) return;  // inside a step, they belong to it
  if (quiet_count_++ == 0) quiet_ = t;
  if (state_ == State::tentative)
    return;  // they belong to the step, unless another forward pass with gradients follows
  if (!evaluation && quiet_count_ < 2) return;
  line_->begin_stretch(evaluation ? StretchKind::evaluation : StretchKind::inference, quiet_, state_ == State::working);
  line_->go_on(quiet_, 0, quiet_count_);
  last_call_ = call.gradients ? t : 0;
  evaluating_ = nullptr;
  quiet_count_ = 0;
}

// The forward pass or clearing before them was thrown away: the step starts after them.
void TrainingSteps::quiet_calls_were_an_evaluation() {
  withdraw();
  line_->begin_stretch(StretchKind::evaluation, quiet_, false);
  line_->go_on(quiet_, 0, quiet_count_);
  quiet_count_ = 0;
}

void TrainingSteps::end_stretch(u64 t) {
  line_->end_stretch(t);
  evaluating_ = nullptr;
}

// ---------------------------------------------------------------- steps

// Whether only a draw starts the next step.
bool TrainingSteps::drawing() const {
  // The last batch of a loader that is drawn from in advance has as many updates as the others.
  return dry_ ? step_.after_dry && step_.updates < updates_per_batch_ : step_.draws;
}

void TrainingSteps::sign(u64 t, Sign what) {
  end_stretch(t);
  quiet_count_ = 0;
  if (state_ != State::gap) return;
  if (!drawing())
    begin(t, what);
  else if (step_.updates >= std::max(kPatience, 2 * most_updates_))
    split(t, what);
  else if (!step_.next_edge)
    step_.next_edge = t;
}

StepBy TrainingSteps::by(Sign what) const {
  if (!optimizers_) return StepBy::backward;
  return what == Sign::draw || (step_.after_dry && previous_.draws) ? StepBy::dataloader : StepBy::optimizer;
}

void TrainingSteps::begin(u64 t, Sign what) {
  before_ = previous_;
  previous_ = step_;
  step_ = {};
  step_.began_with = what;
  step_.after_dry = dry_ && what != Sign::draw && dry_steps_++ == 0;
  begin_ = t;
  state_ = State::tentative;
  if (live_) line_->begin(t, by(what));
}

void TrainingSteps::withdraw() {
  state_ = State::gap;
  step_ = previous_;
  previous_ = before_;
  if (live_) line_->withdraw();
}

void TrainingSteps::confirm(u64 t) {
  if (state_ == State::tentative) {
    state_ = State::working;
    if (live_) line_->confirm(t);
  }
  line_->work(t);
}

void TrainingSteps::cleared(u64 t) {
  opened_ = 0;
  sign_without_update(t, Sign::clearing);
  clears_ = cleared_ = true;
  if (state_ != State::gap || group_) {
    if (first_step_) clears_first_ = true;
    return;
  }
  if (first_step_) clears_first_ = true;
  if (clears_first_) sign(t, Sign::clearing);
}

// Without optimizers: this is a second loss, in a loop that clears its gradients once per step.
bool TrainingSteps::trailing_pass() const {
  return live_ && !optimizers_ && state_ == State::tentative && step_.began_with != Sign::draw && clears_ && !cleared_;
}

void TrainingSteps::backward(u64 t) {
  opened_ = 0;
  if (group_) {
    close_group();
  } else if (line_->in_stretch() && last_call_) {  // that call did not belong to an evaluation
    u64 call = last_call_;
    last_call_ = 0;
    sign(call, Sign::forward);
  } else {
    sign(t, Sign::backward);
  }
  quiet_count_ = 0;
  if (trailing_pass()) {
    withdraw();
    line_->work(t);
    return;
  }
  confirm(t);
  passed_ = passed_uncleared_ = true;
  bool uncleared = !cleared_;
  cleared_ = false;
  if (!live_ || optimizers_) return;
  if (uncleared && !first_step_ && !step_.draws) line_->guess();
  updated(t);
}

void TrainingSteps::update(u64 begin_ticks, u64 end) {
  opened_ = 0;
  if (group_) close_group();
  bool none_yet = first_step_ && state_ == State::gap;
  if (none_yet) begin(begin_ticks, Sign::backward);
  if (state_ == State::gap && !step_.next_edge) {  // another optimizer of the same update
    line_->work(end);
    return;
  }
  confirm(end);
  updates_seen_ = true;
  updated(end);
}

// Where a batch was drawn and nothing was called since, the graph may be all of a step, up to the update.
void TrainingSteps::graph_replayed(u64 t) {
  if (live_ && group_ && calls_ == 0) update(t, t);
}

void TrainingSteps::closure_began(u64 t) {
  opened_ = 0;
  if (group_)
    close_group();
  else
    sign(t, Sign::forward);
}

// Two models are trained in turn without batches: a step may consist of an update of each.
bool TrainingSteps::in_turn() const {
  auto turns = [](const void* a, const void* b, const void* c) { return a && b && a == c && a != b; };
  if (step_.draws || previous_.draws) return false;
  return turns(before_.first, previous_.first, step_.first) || turns(before_.last, previous_.last, step_.last);
}

void TrainingSteps::updated(u64 t) {
  line_->work(t);
  first_step_ = false;
  if (state_ == State::gap) {  // another update on the same batch
    step_.updates++;
    if (step_.kept < kMaxKept) kept_[step_.kept++] = step_.next_edge;
    step_.next_edge = 0;
    return;
  }
  state_ = State::gap;
  step_.updates = 1;
  if (live_ && in_turn()) line_->guess();
}

void TrainingSteps::start(bool with_optimizers) {
  optimizers_ = with_optimizers;
  if (live_) return;
  live_ = true;
  line_->restart(RestartWhy::training, 0, begin_, step_.draws ? StepBy::dataloader : by(step_.began_with));
  line_->confirm(line_->last_work());
  if (!optimizers_ && state_ == State::working) updated(line_->last_work());
}

// ---------------------------------------------------------------- steps that are made afterwards

// Each update so far was a step of its own, and so is the one that starts now.
void TrainingSteps::split(u64 t, Sign what) {
  split_from_ = line_->number();
  make_kept_steps();
  begin(t, what);
}

void TrainingSteps::make_kept_steps() {
  for (u32 i = 0; i < step_.kept; i++) {
    line_->begin(kept_[i], by(Sign::forward));
    line_->confirm(kept_[i]);
  }
  step_.draws = false;
}

// The loop draws again after all: what was split is one step.
void TrainingSteps::recount() {
  if (line_->number() - 1 - split_from_ <= kMaxRecounted) {
    most_updates_ = std::max(most_updates_, u32(line_->number() - split_from_));
    line_->restart(RestartWhy::recount, split_from_ + 1, begin_, StepBy::dataloader);
  }
  split_from_ = -1;
}

// There are optimizers and backward passes, but an update was never seen, perhaps because the optimizer's step was
// compiled. After a while updates are no longer expected, and the signs that start a step after an update start one
// without it.
void TrainingSteps::sign_without_update(u64 t, Sign what) {
  if (!live_ || !optimizers_ || updates_seen_ || state_ != State::working) return;
  if (what == Sign::clearing && passed_uncleared_) {
    clearings_alone_++;
    passed_uncleared_ = false;
  }
  if (passed_) {
    passed_ = false;
    passes_alone_++;
    if (step_.kept < kMaxKept) kept_[step_.kept++] = t;
  }
  bool by_clearings = clearings_alone_ >= kClearingsAlone;
  if (!by_clearings && passes_alone_ < kPassesAlone) return;
  optimizers_ = first_step_ = false;
  if (!by_clearings) line_->guess();
  u32 last = step_.kept - 1;
  u64 newest = kept_[last];
  step_.kept = last;
  make_kept_steps();
  state_ = State::gap;
  begin(newest, what);
}

}  // namespace tprof
