#include "collect/steps/turns.h"

#include <algorithm>

namespace tprof {

int Turns::find(const Turn& turn) const {
  // It was not asked for, since there was one alone.
  if (!turn.optimizer && !want_optimizer() && models_[0].newest.optimizer) return 0;
  for (int i = 0; i < count_; i++)
    if (models_[i].newest.is_as(turn)) return i;
  return -1;
}

int Turns::place(const Turn& turn) {
  int i = find(turn);
  if (i >= 0) return i;
  if (count_ < kModels) {
    i = count_++;
  } else {
    auto older = [](const Model& a, const Model& b) { return a.step < b.step; };
    i = int(std::min_element(models_, models_ + kModels, older) - models_);
    if (i == leader_) leader_ = -1;
    if (i == last_) last_ = -1;
    if (i == last_by_itself_) last_by_itself_ = -1;
  }
  models_[i] = {};
  return i;
}

bool Turns::joins(const Turn& turn) const {
  int i = find(turn);
  return i >= 0 && leader_ >= 0 && i != leader_ && i != last_ && models_[i].in_a_row == 1 &&
         models_[leader_].step == steps_;
}

// Whether the steps since the model's last update are few, and none of the other models was updated in a row there.
bool Turns::leads_since(int model) const {
  if (steps_ - models_[model].step > kLongestRound) return false;
  return std::none_of(models_, models_ + count_, [&](const Model& other) {
    return &other != &models_[model] && other.step > models_[model].step && other.in_a_row > 1;
  });
}

u32 Turns::add(const Turn& turn, bool joined, bool same_forward) {
  int i = place(turn);
  Model& model = models_[i];
  bool again = i == last_, returns = model.in_a_row && !again;
  if (!same_forward && i != last_by_itself_) {
    alternate_ |= returns && (model.in_a_row == 1 || (last_ >= 0 && models_[last_].in_a_row == 1));
    last_by_itself_ = i;
  }
  steps_ += !joined;
  u32 back = 0;
  if (returns && !joined && i != leader_ && leads_since(i)) {
    leader_ = i;
    back = steps_ - model.step;
    for (Model& other : models_) other.step = std::min(other.step, model.step);
    steps_ = model.step + 1;
  }
  u64 optimizer = turn.optimizer ? turn.optimizer : model.newest.optimizer;
  model.newest = turn;
  model.newest.optimizer = optimizer;
  model.in_a_row = again ? model.in_a_row + 1 : 1;
  model.step = steps_;
  last_ = i;
  return back > 1 ? back : 0;
}

}  // namespace tprof
