// Which models are updated in turn, in a loop that draws nothing: an actor behind its critic, a generator behind its
// discriminator. One of them leads: its update begins a step, and the updates of the others belong to that step. A pure
// rule.
#pragma once
#include "base/types.h"

namespace tprof {

// What shows which model an update is of.
struct Turn {
  u64 optimizer = 0;  // stands for the parameters that it updates; 0: not known, then the two below tell
  // The first parameters of the first and the last module that were called with gradients since the update before, up
  // to a backward pass. Modules themselves may be made anew for each step.
  const void *first = nullptr, *last = nullptr;
  bool is_as(const Turn& other) const {
    if (optimizer && other.optimizer) return optimizer == other.optimizer;
    return first == other.first && last == other.last;
  }
};

class Turns {
 public:
  static constexpr u32 kLongestRound = 8;  // steps that are found to be one

  void forget() { *this = {}; }
  // Whether an update belongs to the step before it, which has to be the leader's. A model that was last updated
  // several times in a row makes steps itself.
  bool joins(const Turn& turn) const;
  // An update that joined the step before it, or made one; `same_forward`: certainly joined. If it shows that it is the
  // leader's, and that the steps since the leader's last one belong to that: how many steps ago that was; else 0.
  u32 add(const Turn& turn, bool joined, bool same_forward = false);
  // Some model was updated again after another, and not both of them in phases of several updates.
  bool alternate() const { return alternate_; }
  bool have_leader() const { return leader_ >= 0; }
  // Whether it is worth knowing of which optimizer the next update is: only rarely, where for long there was one alone.
  bool want_optimizer() const {
    return count_ != 1 || models_[0].in_a_row < kAlone || models_[0].in_a_row % kAskAgain == 0;
  }

 private:
  struct Model {
    Turn newest;
    u32 in_a_row = 0;  // updates of its latest run
    u32 step = 0;      // of its newest update, by a count of our own
  };
  static constexpr u32 kAlone = 64, kAskAgain = 15;  // updates
  static constexpr int kModels = 8;                  // the one that was not updated for longest makes room

  int find(const Turn& turn) const;
  int place(const Turn& turn);
  bool leads_since(int model) const;

  Model models_[kModels];
  int count_ = 0, leader_ = -1, last_ = -1;
  int last_by_itself_ = -1;  // without those of the same forward pass
  u32 steps_ = 0;
  bool alternate_ = false;
};

}  // namespace tprof
