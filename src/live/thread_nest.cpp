#include "live/thread_nest.h"

#include <algorithm>

namespace tprof::live {
namespace {

constexpr size_t kMaxOpen = 4096;  // the recorder follows fewer; more is damage

}  // namespace

void ThreadNest::pop() {
  Open range = open_.back();
  open_.pop_back();
  u64 length = range.end > range.begin ? range.end - range.begin : 0;
  if (!open_.empty()) open_.back().children += length;
  u64 from = std::max(range.begin, range.told);
  u64 self = length - std::min(length, range.children);
  tell_({range.name, open_.empty() ? from : range.begin, range.end, length, self, open_.empty()});
}

// The rest of a phase that is over: what has no end now gets none.
void ThreadNest::drop_all() {
  while (!open_.empty()) {
    if (open_.back().end)
      pop();
    else
      open_.pop_back();
  }
}

void ThreadNest::add(RecordRef ref, u32 name, u64 begin, u64 end, u32 epoch, u64 read) {
  if (epoch != epoch_ || open_.size() >= kMaxOpen) drop_all();
  epoch_ = epoch;
  while (!open_.empty()) {
    Open& last = open_.back();
    // Its record was read before this one was: it may have ended since.
    if (!last.end && last.asked != read) {
      last.end = end_of_(last.ref);
      last.asked = read;
    }
    if (!last.end || last.end > begin) break;
    pop();
  }
  open_.push_back({ref, begin, end, 0, 0, 0, name, false});
}

void ThreadNest::end(RecordRef ref, u64 ticks) {
  for (Open& range : open_)
    if (range.ref == ref && !range.end) range.end = ticks;
}

void ThreadNest::look_is_over(u32 epoch) {
  if (epoch_ < epoch) return drop_all();
  while (!open_.empty() && open_.back().end && open_.back().old) pop();
  for (Open& range : open_) {
    if (!range.end) range.end = end_of_(range.ref);
    range.old = range.end != 0;
  }
}

void ThreadNest::tell_open(u64 now, const Tell& tell) {
  if (open_.empty()) return;
  Open& range = open_.front();
  u64 until = range.end ? range.end : now, from = std::max(range.begin, range.told);
  if (until <= from) return;
  tell({range.name, from, until, 0, 0, true});
  range.told = until;
}

}  // namespace tprof::live
