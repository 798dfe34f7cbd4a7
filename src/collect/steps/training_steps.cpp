#include "collect/steps/training_steps.h"

#include <algorithm>
#include <utility>

namespace tprof {

void TrainingSteps::reset(StepLine* line) {
  *this = TrainingSteps{};
  line_ = line;
}

void TrainingSteps::stand_aside() {
  if (live_ && state_ == State::tentative) line_->withdraw();
  end_stretch(line_->last_work());
  state_ = State::gap;
  called_before_ = false;
  step_ = previous_ = {};
  forget_turn();
  turns_.forget();
  alone_from_ = inner_from_ = -1;
  group_ = opened_ = 0;
  aside_ = {};
  quiet_count_ = 0;
  split_from_ = -1;
}

// ---------------------------------------------------------------- forwards

void TrainingSteps::module_called(u64 t, const ModuleCall& call) {
  opened_ = 0;
  called_since_ = true;
  line_->work(t);
  if (call.training && call.gradients && call.parameter) resume_first_batch(t);
  if (group_) {
    calls_++;
    if (!call.training && knows(call)) (call.gradients ? eval_passes_ : eval_calls_) = true;
    if (call.training && call.gradients && call.parameter) training_calls_ = true;
  } else if (line_->in_stretch() && !call.parameter) {
    return;  // a loss, perhaps: it belongs to the stretch
  } else if (call.gradients && (call.training || !knows(call))) {
    sign_without_update(t, Sign::forward);
    if (quiet_count_ && state_ == State::tentative) quiet_calls_were_an_evaluation();
    sign(t, Sign::forward);
  } else if (knows(call)) {
    quiet_call(t, call);
  }
  if (!call.gradients || !call.parameter) return;
  if (call.training && !trained_since_) turn_ = {};  // an evaluation before says nothing of the update
  bool says_nothing = passed_since_ || (!call.training && trained_since_);
  (call.training ? trained_since_ : evaluated_since_) = true;
  if (says_nothing) return;
  if (!turn_.first) turn_.first = call.parameter;
  turn_.last = call.parameter;
}

// A module that trains is called without a batch, in eval mode or without gradients.
void TrainingSteps::quiet_call(u64 t, const ModuleCall& call) {
  bool evaluation = !call.training;
  if (line_->in_stretch()) {
    line_->go_on(t, 0, 1);
    last_call_ = call.gradients ? t : 0;
    return;
  }
  bool inside = state_ == State::working || in_round();
  if (!evaluation && (inside || state_ != State::gap)) return;  // inside a step, they belong to it
  if (quiet_count_++ == 0) quiet_ = t;
  if (state_ == State::tentative)
    return;  // they belong to the step, unless another forward pass with gradients follows
  if (!evaluation && quiet_count_ < 2) return;
  line_->begin_stretch(evaluation ? StretchKind::evaluation : StretchKind::inference, quiet_, inside);
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
  called_before_ &= !line_->in_stretch();
  line_->end_stretch(t);
  evaluating_ = nullptr;
}

// ---------------------------------------------------------------- steps

// Whether only a draw starts the next step, or another update has to come first.
bool TrainingSteps::drawing() const {
  if (in_round()) return true;
  // The last batch of a loader that is drawn from in advance has as many updates as the others.
  return dry_ ? step_.after_dry && step_.updates < updates_per_batch_ : step_.draws;
}

void TrainingSteps::sign(u64 t, Sign what) {
  end_stretch(t);
  quiet_count_ = 0;
  if (state_ != State::gap) return;
  if (!drawing())
    begin(t, what);
  else if (!in_round() && step_.updates >= std::max(kPatience, 2 * most_updates_))
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
  quiet_count_ = 0;
  begin_ = t;
  state_ = State::tentative;
  if (live_) line_->begin(t, by(what));
  if (live_ && dry_ && what != Sign::draw) line_->loop_ended(dry_since_);
}

void TrainingSteps::withdraw() {
  state_ = State::gap;
  step_ = previous_;
  previous_ = before_;
  forget_turn();
  if (live_) line_->withdraw();
}

void TrainingSteps::forget_turn() {
  passed_since_ = trained_since_ = evaluated_since_ = called_since_ = false;
  turn_ = {};
}

// Where models are updated in turn, or losses of one forward pass, only the update shows whether a step is one.
void TrainingSteps::confirm(u64 t) {
  if (state_ == State::tentative) {
    state_ = State::working;
    if (live_ && !(takes_turns() && turns_.have_leader()) && !is_same_forward()) line_->confirm(t);
  }
  line_->work(t);
}

void TrainingSteps::cleared(u64 t) {
  opened_ = 0;
  resume_first_batch(t);
  sign_without_update(t, Sign::clearing);
  clears_ = cleared_ = true;
  if (state_ != State::gap || group_) {
    if (first_step_) clears_first_ = true;
    return;
  }
  if (first_step_) clears_first_ = true;
  if (clears_first_) sign(t, Sign::clearing);
}

// Without optimizers: this is a second loss, in a loop that clears its gradients or calls its model once per step.
bool TrainingSteps::trailing_pass() const {
  if (!live_ || optimizers_ || state_ != State::tentative || step_.began_with == Sign::draw) return false;
  return clears_ ? !cleared_ : step_.began_with == Sign::backward && previous_.began_with == Sign::forward;
}

// A backward pass that does not show whether the batch is trained on.
bool TrainingSteps::decides_nothing() const {
  return live_ && updates_seen_ && !trains_in_eval_ && group_ && eval_passes_ && !training_calls_;
}

void TrainingSteps::backward(u64 t) {
  opened_ = 0;
  resume_first_batch(t);
  if (decides_nothing()) return line_->work(t);
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
  passed_since_ = passed_ = passed_uncleared_ = true;
  bool uncleared = !cleared_;
  cleared_ = false;
  if (!live_ || optimizers_) return;
  if (uncleared && !first_step_ && !step_.draws) line_->guess();
  updated_by_hand(t);
}

// An update of gradients that do not exist, as where a learning rate is plotted.
bool TrainingSteps::changes_nothing() const {
  bool cleared = cleared_ && (called_since_ || cleared_update_);
  return !live_ && draws_count_ && !step_.draws && !cleared && !passed_since_ && !trained_since_;
}

bool TrainingSteps::update(u64 begin_ticks, u64 end, u64 optimizer) {
  opened_ = 0;
  resume_first_batch(begin_ticks);
  if (group_) close_group();
  if (changes_nothing()) {
    cleared_update_ |= cleared_;
    if (state_ == State::tentative) withdraw();
    return false;
  }
  if (first_step_ && state_ == State::gap) {
    end_stretch(begin_ticks);
    begin(begin_ticks, Sign::backward);
  }
  updates_seen_ = true;
  if (alone_from_ >= 0) passes_were_one_step();
  if (state_ == State::gap && !step_.next_edge) {  // another optimizer of the same update
    line_->update(end, end > begin_ticks);
    return true;
  }
  bool same_forward = is_same_forward();
  if (same_forward && (state_ == State::gap ? step_ : previous_).updates >= kObjectives) {
    split_objectives();
    same_forward = false;
  }
  turn_.optimizer = optimizer;
  if (same_forward || (takes_turns() && turns_.joins(turn_))) {
    join();
  } else {
    if (takes_turns() && state_ == State::gap) begin(step_.next_edge, Sign::forward);
    confirm(end);
    if (live_) line_->confirm(end);
  }
  updated(end, same_forward);
  return true;
}

// Where a batch was drawn and nothing was called since, the graph may be all of a step, up to the update. Without
// batches it is where two replays follow each other.
void TrainingSteps::graph_replayed(u64 begin, u64 end) {
  opened_ = 0;
  u64 end_before = std::exchange(replayed_, end);
  called_before_ = false;
  if (!live_ || !optimizers_) return;
  if (group_) {
    if (calls_ == 0) update(begin, end, 0);
    return;
  }
  if (drawing()) return;
  bool again = state_ == State::tentative && step_.began_with == Sign::replay;
  if (again && !replays_are_steps_) {
    replays_are_steps_ = true;
    update(begin_, end_before, 0);
  }
  sign(begin, Sign::replay);
  if (replays_are_steps_ && step_.began_with == Sign::replay) update(begin, end, 0);
}

void TrainingSteps::backward_ended(u64 t) {
  if (live_ && !optimizers_) line_->update(t, false);
}

void TrainingSteps::closure_began(u64 t) {
  opened_ = 0;
  called_before_ = false;
  passed_since_ = true;
  if (group_)
    close_group();
  else
    sign(t, Sign::forward);
}

void TrainingSteps::updated(u64 t, bool same_forward) {
  line_->update(t);
  last_call_ = 0;
  first_step_ = false;
  if (evaluated_since_ && !trained_since_) trains_in_eval_ = true;
  Turn turn = turn_;
  bool joined = state_ == State::gap;
  called_before_ = trained_since_ || evaluated_since_ || (called_before_ && joined);
  forget_turn();
  if (joined) {  // another update on the same batch, or of the same round
    step_.updates++;
    if (step_.kept < kMaxKept) kept_[step_.kept++] = step_.next_edge;
    step_.next_edge = 0;
  } else {
    state_ = State::gap;
    step_.updates = 1;
    step_.kept = 0;
  }
  if (live_) took_turn(turn, joined, same_forward);
}

// A backward pass is the update, unless its gradients go into a pass that follows it at once, as those of a penalty or
// of a differential equation do.
void TrainingSteps::updated_by_hand(u64 t) {
  i64 newest = line_->number(), from = inner_from_;
  if (creates_graph_) {
    if (inner_passes_ && !step_.draws && passes_alone_++ < kPassesAlone) return;
    if (from < 0) inner_from_ = newest, inner_begin_ = line_->edge();
  } else {
    passes_alone_ = 0;
    inner_from_ = -1;
    bool follows = from >= 0 && step_.began_with == Sign::backward && newest - from <= kMaxRecounted;
    inner_passes_ |= follows;
    if (follows && newest > from) {
      begin_ = inner_begin_;
      recount_from(from, begin_, by(Sign::backward));
      line_->confirm(t);
      previous_ = before_ = {};
    }
  }
  updated(t);
}

void TrainingSteps::start(bool with_optimizers) {
  optimizers_ = with_optimizers;
  if (live_) return;
  live_ = true;
  line_->restart(RestartWhy::training, 0, begin_, step_.draws ? StepBy::dataloader : by(step_.began_with));
  line_->confirm(line_->last_work());
  if (!optimizers_ && state_ == State::working) updated_by_hand(line_->last_work());
}

// ---------------------------------------------------------------- models in turn

// The leader was updated, and the others most likely follow, as in the last two steps.
bool TrainingSteps::in_round() const {
  bool alike = !previous_.draws && !before_.draws && step_.updates < std::min(previous_.updates, before_.updates);
  return takes_turns() && turns_.have_leader() && step_.updates && alike;
}

// All losses of this update and of the one before were computed before that one: they are objectives of one step.
bool TrainingSteps::is_same_forward() const {
  bool may_join = state_ == State::gap || line_->tentative();
  return takes_turns() && may_join && called_before_ && !trained_since_ && !evaluated_since_;
}

// Each of those updates was a step of its own, as where a loop calls no model behind one that did.
void TrainingSteps::split_objectives() {
  u64 newest = state_ == State::gap ? step_.next_edge : begin_;
  if (state_ != State::gap) withdraw();
  make_kept_steps();
  begin(newest, Sign::backward);
}

// The update belongs to the step before it.
void TrainingSteps::join() {
  if (state_ == State::gap) return;
  line_->withdraw();
  state_ = State::gap;
  step_ = previous_;
  previous_ = before_;
  step_.next_edge = begin_;
}

// Where nothing is drawn, and several models are updated in turn, what a step is stays a guess.
void TrainingSteps::took_turn(const Turn& turn, bool joined, bool same_forward) {
  if (step_.draws) {
    turns_.forget();
    if (step_.updates == 1) first_turn_ = turn;
    step_.several |= !turn.is_as(first_turn_);
    return;
  }
  if (step_.after_dry) return;
  u32 round = turns_.add(turn, joined, same_forward);
  if (turns_.alternate()) line_->guess();
  if (round && optimizers_) group_round(round);
}

// So many steps before the newest one are one step.
void TrainingSteps::group_round(u32 steps) {
  recount_from(line_->number() - i64(steps) + 1, begin_, by(step_.began_with));
  line_->confirm(line_->last_work());
  previous_ = before_ = {};
  previous_.updates = steps;
}

// ---------------------------------------------------------------- steps that are made afterwards

// Each update so far was a step of its own, and so is the one that starts now.
void TrainingSteps::split(u64 t, Sign what) {
  split_from_ = line_->number();
  split_several_ = step_.several;
  make_kept_steps();
  begin(t, what);
}

void TrainingSteps::make_kept_steps() {
  for (u32 i = 0; i < step_.kept; i++) {
    line_->begin(kept_[i], by(Sign::forward));
    line_->confirm(kept_[i]);
  }
  step_.draws = called_before_ = false;
  step_.kept = 0;
}

// Counting starts again at `number`. If a step was split that has this number or a higher one, it is no more.
void TrainingSteps::recount_from(i64 number, u64 t, StepBy by) {
  line_->restart(RestartWhy::recount, number, t, by);
  if (split_from_ >= number) split_from_ = -1;
}

// The loop draws again after all: what was split is one step, or draws are so rare that they say nothing of steps.
void TrainingSteps::recount() {
  if (!split_several_) line_->guess();
  if (line_->number() - 1 - split_from_ <= kMaxRecounted) {
    most_updates_ = std::max(most_updates_, u32(line_->number() - split_from_));
    recount_from(split_from_ + 1, begin_, StepBy::dataloader);
  } else {
    ignore_draws();
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
  alone_from_ = line_->number();
  alone_begin_ = line_->edge();
  alone_draws_ = step_.draws;
  u32 last = step_.kept - 1;
  u64 newest = kept_[last];
  step_.kept = last;
  make_kept_steps();
  state_ = State::gap;
  begin(newest, what);
}

// The first update came: all backward passes so far were for it, unless they are too many for one.
void TrainingSteps::passes_were_one_step() {
  i64 from = alone_from_;
  alone_from_ = -1;
  clearings_alone_ = passes_alone_ = 0;
  optimizers_ = true;
  turns_.forget();
  if (line_->number() - from > kMaxPasses) return;
  begin_ = alone_begin_;
  recount_from(from, begin_, alone_draws_ ? StepBy::dataloader : StepBy::optimizer);
  line_->confirm(line_->last_work());
  step_ = {};
  step_.draws = alone_draws_;
  state_ = State::working;
}

}  // namespace tprof
