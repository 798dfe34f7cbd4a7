// TrainingSteps, continued: which of the batches that are drawn are trained on.
#include <algorithm>

#include "collect/steps/training_steps.h"

namespace tprof {

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
  drawing_ = iterator;
  drawn_ = t;
  bool is_new = opened_ != 0;
  u64 begin = is_new ? opened_ : t;
  opened_ = 0;
  sign_without_update(begin, Sign::draw);
  if (split_from_ >= 0 && !group_ && state_ == State::tentative) withdraw();  // a forward that was thrown away
  bool another = group_ && (is_new || !drawn(iterator));
  if (group_ && calls_ > 0 && !another && iterator != iterators_[0]) set_first_batch_aside();
  if (iterator == aside_.iterator) resume_first_batch(begin);
  if (group_ && calls_ > 0 && (!another || eval_calls_)) {
    evaluated();
    if (is_new) evaluating_ = nullptr;
  } else if (another && calls_ == 0 && spent_ && iterator_count_ == 1) {
    group_ = 0;  // a whole loader was read, perhaps for statistics
    if (shown_) withdraw();
  } else if (group_) {
    if (another && iterator_count_ == 1 && calls_ == 0) second_ = begin;
    if (another && iterator_count_ < kMaxIterators) iterators_[iterator_count_++] = iterator;
    return;
  }
  // The iteration before ends where the next batch is drawn, be there one or not.
  if (state_ == State::gap && iterator == trained_on_ && !is_new && !dry_) line_->loop_ended(t);
  open_group(begin, iterator);
}

void TrainingSteps::draw_ends(bool got_batch) {
  if (!draws_count_ || !group_) return;
  if (got_batch) {
    batches_++;
    return;
  }
  bool evaluated = evaluating_ && drawn(evaluating_);
  if (!evaluated) dry_ = true, dry_steps_ = 0, dry_since_ = drawn_;
  evaluating_ = nullptr;
  spent_ = true;
  bool in_advance = batches_ > 0;
  if (!in_advance) {
    group_ = 0;
    if (shown_) withdraw();
  }
  bool of_loop = in_advance ? calls_ == 0 && drawing_ == iterators_[0] : drawing_ == trained_on_;
  if (of_loop && !evaluated) line_->loop_ended(drawn_);
}

void TrainingSteps::reset_group(u64 t, const void* iterator) {
  group_ = t;
  iterators_[0] = iterator;
  iterator_count_ = 1;
  batches_ = calls_ = 0;
  second_ = 0;
  eval_calls_ = eval_passes_ = training_calls_ = shown_ = spent_ = false;
}

void TrainingSteps::open_group(u64 t, const void* iterator) {
  reset_group(t, iterator);
  // The next batch of a loader that is being evaluated is most likely evaluated too, so no window should open for it.
  bool more_of_the_same = line_->in_stretch() && iterator == evaluating_;
  if (state_ == State::gap && !more_of_the_same) {
    begin(t, Sign::draw);
    shown_ = true;
  } else if (state_ == State::tentative && !live_) {  // what came before the first batch was set-up
    begin_ = t;
    quiet_count_ = 0;
    step_.began_with = Sign::draw;
    clears_first_ = false;
  }
}

// The batches of the group are trained on.
void TrainingSteps::close_group() {
  u64 t = group_;
  group_ = 0;
  quiet_count_ = 0;
  trained_on_ = iterators_[0];
  if (!spent_ && state_ != State::gap) line_->loop_goes_on();
  end_stretch(t);
  if (state_ == State::gap) begin(t, Sign::draw);
  if (state_ == State::tentative && step_.began_with == Sign::draw) {
    if (previous_.draws) updates_per_batch_ = previous_.updates;
    most_updates_ = std::max(most_updates_, updates_per_batch_);
    // As where a GAN's critic has more batches than its generator: are those a step, or each of them?
    several_or_single_ += previous_.draws && before_.draws && previous_.several != before_.several;
    if (several_or_single_ >= kAmbiguous) line_->guess();
    if (split_from_ >= 0) recount();
  }
  step_.draws = draws_count_;
  dry_ = false;
}

void TrainingSteps::evaluated() {
  u64 t = group_;
  group_ = 0;
  bool inside = state_ == State::working || aside_.group;
  if (!inside && state_ == State::tentative) withdraw();
  if (!line_->in_stretch()) line_->begin_stretch(StretchKind::evaluation, t, inside);
  evaluating_ = iterators_[0];
  last_call_ = 0;
  quiet_count_ = 0;
  line_->go_on(t, batches_, calls_);
}

// A loop that knows how many batches there are does not draw until its loader is exhausted.
void TrainingSteps::program_ends() {
  bool goes_on = line_->in_stretch() && iterators_[0] == evaluating_;
  if (live_ && group_ && calls_ > 0 && !training_calls_ && (eval_calls_ || goes_on)) evaluated();
}

// The group holds a batch of one loader and, since then, some of another that is evaluated.
void TrainingSteps::set_first_batch_aside() {
  if (!live_ || state_ == State::gap || !second_ || training_calls_ || aside_.group) return;
  end_stretch(group_);
  aside_ = {group_, iterators_[0], shown_};
  group_ = second_;
  iterators_[0] = iterators_[1];
  iterator_count_ = 1;
  batches_--;
}

// The evaluation is over, if a batch was set aside for one.
void TrainingSteps::resume_first_batch(u64 t) {
  if (!aside_.group) return;
  if (group_) evaluated();
  end_stretch(t);
  reset_group(aside_.group, aside_.iterator);
  batches_ = 1;
  shown_ = aside_.shown;
  aside_ = {};
}

}  // namespace tprof
