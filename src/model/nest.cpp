// Makes the ranges of every row nest: viewers drop a range that crosses another of its row, and the
// TensorBoard plugin hangs on about 200 levels.
//
// Ranges of one thread nest by nature, except async ones (they end elsewhere), labels that a script closes
// out of order, and labels that cross a step. Those go to lanes: rows of their own beside the thread's.
#include <algorithm>
#include <unordered_map>

#include "model/passes.h"

namespace tprof {
namespace {

constexpr i64 kClampNs = 1000;  // a crossing this small is rounding, not structure
constexpr u16 kDeepest = 150;   // levels on one row

class Nester {
 public:
  Nester(Model& model, bool exact) : model_(model), events_(model.events), deepest_(exact ? UINT16_MAX : kDeepest) {}

  void run() {
    sort();
    std::vector<std::vector<u32>> rows(model_.threads.size());
    for (u32 i = 0; i < events_.size(); i++) rows[events_[i].thread].push_back(i);
    for (u32 t = 0; t < rows.size(); t++) find_crossing(rows[t]);
    std::sort(moved_.begin(), moved_.end());
    for (u32 i : moved_) move_to_lane(i);
    set_parents();
    if (deepest_ == kDeepest) part_ends();
    fold();
    for (u32 i = 0; i < events_.size(); i++) {
      Event& e = events_[i];
      if (!(e.flags & kEventStep)) continue;
      model_.steps[e.inputs_bytes].event = i;
      e.inputs_bytes = 0;
    }
  }

 private:
  struct Lane {
    u32 thread;
    std::vector<i64> ends;
  };

  void sort() {
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
      return (a.flags & kEventStep) > (b.flags & kEventStep);
    });
  }

  // Of two ranges that cross: the step stays, then what is not async stays, then the one that began first.
  void find_crossing(const std::vector<u32>& row) {
    std::vector<u32> stack;
    for (u32 i : row) {
      Event& e = events_[i];
      bool here = true;
      while (!stack.empty()) {
        const Event& top = events_[stack.back()];
        if (top.end_ns() <= e.begin_ns) {
          stack.pop_back();
          continue;
        }
        if (e.end_ns() <= top.end_ns()) break;
        bool step = e.flags & kEventStep, async = (e.flags | top.flags) & kEventAsync;
        if (!step && !async && e.end_ns() - top.end_ns() <= kClampNs) {
          e.dur_ns = top.end_ns() - e.begin_ns;
          e.flags |= kEventClamped;
          break;
        }
        bool top_goes = step || (!(e.flags & kEventAsync) && (top.flags & kEventAsync));
        if (top_goes && !(top.flags & kEventStep)) {
          moved_.push_back(stack.back());
          stack.pop_back();
          continue;
        }
        moved_.push_back(i);
        here = false;
        break;
      }
      if (here) stack.push_back(i);
    }
  }

  void move_to_lane(u32 index) {
    Event& e = events_[index];
    model_.ledger.lanes++;
    std::vector<Lane>& lanes = lanes_[model_.threads[e.thread].owner];
    for (Lane& lane : lanes) {
      while (!lane.ends.empty() && lane.ends.back() <= e.begin_ns) lane.ends.pop_back();
      if (!lane.ends.empty() && lane.ends.back() < e.end_ns()) continue;
      lane.ends.push_back(e.end_ns());
      e.thread = lane.thread;
      return;
    }
    TraceThread thread = model_.threads[e.thread];
    thread.tid = kFirstLaneTid + lane_count_++;
    thread.name += (thread.name.empty() ? "lane " : " lane ") + std::to_string(lanes.size() + 1);
    e.thread = static_cast<u32>(model_.threads.size());
    model_.threads.push_back(thread);
    lanes.push_back({e.thread, {e.end_ns()}});
  }

  void set_parents() {
    std::vector<std::vector<u32>> stacks(model_.threads.size());
    for (u32 i = 0; i < events_.size(); i++) {
      Event& e = events_[i];
      std::vector<u32>& stack = stacks[e.thread];
      while (!stack.empty() && events_[stack.back()].end_ns() <= e.begin_ns) stack.pop_back();
      e.parent = stack.empty() ? -1 : static_cast<i32>(stack.back());
      e.depth = static_cast<u16>(stack.size());
      if (e.depth < deepest_ || (e.flags & kEventStep)) stack.push_back(i);
    }
  }

  // Readers add ts and dur as doubles of microseconds, which round to about a nanosecond: a range that ends
  // exactly where the one around it does (both clipped, say) might seem to cross it.
  void part_ends() {
    for (Event& e : events_) {
      if (e.parent < 0) continue;
      i64 last = events_[e.parent].end_ns() - kRoundingNs;
      if (e.end_ns() > last) e.dur_ns = std::max<i64>(last - e.begin_ns, 0);
    }
  }

  // Leaves out the levels beyond the deepest; they have no children that stay.
  void fold() {
    auto is_deep = [this](const Event& e) { return e.depth >= deepest_ && !(e.flags & kEventStep); };
    u64 deep = std::count_if(events_.begin(), events_.end(), is_deep);
    if (deep == 0) return;
    model_.ledger.dropped["folded_deep"] += deep;
    std::vector<i32> now(events_.size(), -1);
    i32 next = 0;
    for (size_t i = 0; i < events_.size(); i++)
      if (!is_deep(events_[i])) now[i] = next++;
    std::erase_if(events_, is_deep);
    for (Event& e : events_)
      if (e.parent >= 0) e.parent = now[e.parent];
  }

  Model& model_;
  std::vector<Event>& events_;
  u16 deepest_;
  std::vector<u32> moved_;
  std::unordered_map<u32, std::vector<Lane>> lanes_;  // by owner
  u32 lane_count_ = 0;
};

}  // namespace

void nest_events(Model& model, bool exact) { Nester(model, exact).run(); }

}  // namespace tprof
