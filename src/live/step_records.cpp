#include "live/step_records.h"

#include <algorithm>

namespace tprof::live {
namespace {

constexpr size_t kMostPending = 1 << 16;

bool is_certain(const StepRecord& r) { return (r.flags & kStepHasWork) && !(r.flags & kStepTentative); }

}  // namespace

void StepRecords::add(const RecordView& step) {
  if (pending_.size() >= kMostPending) pending_.pop_front();
  pending_.push_back({step.ref, step_of(step)});
}

void StepRecords::restart() { pending_.clear(); }

std::vector<StepParts> StepRecords::settled(u64 until, const ReadAgain& read_again) {
  std::vector<StepParts> out;
  while (!pending_.empty()) {
    for (size_t i = 0; i < std::min<size_t>(pending_.size(), 2); i++) read_again(pending_[i].ref, pending_[i].record);
    const StepRecord& r = pending_.front().record;
    const StepRecord* next = pending_.size() > 1 ? &pending_[1].record : nullptr;
    bool is_next_open = next && !is_certain(*next) && !(next->flags & kStepWithdrawn);
    bool is_whole = is_certain(r) && r.end_ticks > r.begin_ticks;
    if (!(r.flags & kStepWithdrawn)) {
      if (is_next_open || (!is_whole && !next) || (is_whole && r.end_ticks > until)) break;
      if (is_whole) out.push_back({r.number, r.begin_ticks, r.end_ticks, {}});
    }
    pending_.pop_front();
  }
  return out;
}

}  // namespace tprof::live
