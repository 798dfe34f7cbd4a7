// Makes the ranges of every row nest: viewers drop a range that crosses another of its row, and the
// TensorBoard plugin hangs on about 200 levels.
//
// Ranges of one thread nest by nature, except async ones (they end elsewhere), labels that a script closes
// out of order, labels that cross a step, and Python calls in which a label or step begins or ends. Those are moved to
// lanes, which are rows of their own beside that of the thread; Python calls that cross only a little are cut.
#include <algorithm>
#include <unordered_map>

#include "model/passes.h"
#include "model/python.h"
#include "model/sort.h"

namespace tprof {
namespace {

constexpr i64 kClampNs = 1000;  // a crossing this small is rounding, not structure
// A Python call that crosses something else by no more than this is cut, else it is moved to a lane: a label begins
// inside the call of its __enter__, a step ends a little before the function around the optimizer does.
constexpr i64 kCutPythonNs = 100'000;

// The number of levels in one row. Operators must remain even if Python calls are deep, and modules even if other
// functions are.
constexpr u16 kDeepest = 150, kDeepestModule = 125, kDeepestPython = 100;
u16 deepest(const Event& e) { return !is_python(e) ? kDeepest : is_module(e) ? kDeepestModule : kDeepestPython; }

class Nester {
 public:
  Nester(Model& model, bool exact) : model_(model), events_(model.events), exact_(exact) {}

  void run() {
    if (!exact_) fit_python_into_steps();
    sort();
    std::vector<std::vector<u32>> rows(model_.threads.size());
    for (u32 i = 0; i < events_.size(); i++) rows[events_[i].thread].push_back(i);
    for (u32 t = 0; t < rows.size(); t++) find_crossing(rows[t]);
    std::sort(moved_.begin(), moved_.end());
    for (u32 i : moved_) move_to_lane(i);
    set_parents();
    if (!exact_) separate_ends();
    fold();
    for (u32 i = 0; i < events_.size(); i++) {
      Event& e = events_[i];
      if (!(e.flags & kEventStep)) continue;
      (e.flags & kEventStretch ? model_.stretches[e.step_index].event : model_.steps[e.step_index].event) = i;
      e.step_index = 0;
    }
  }

 private:
  struct Lane {
    u32 thread;
    std::vector<i64> ends;
  };

  // Calls that begin a little before a step or stretch, or end a little after it, are cut there.
  void fit_python_into_steps() {
    std::vector<i64> edges;
    u32 thread = 0;
    auto add = [&](const auto& all) {
      for (const auto& step : all) edges.insert(edges.end(), {step.begin_ns, step.end_ns});
    };
    add(model_.steps);
    add(model_.stretches);
    std::sort(edges.begin(), edges.end());
    for (const Event& e : events_)
      if (e.flags & kEventStep) thread = e.thread;
    for (Event& e : events_) {
      if (!is_python(e) || e.thread != thread) continue;
      auto first = std::upper_bound(edges.begin(), edges.end(), e.begin_ns);
      if (first != edges.end() && *first < e.end_ns() && *first - e.begin_ns <= kCutPythonNs) {
        while (first + 1 != edges.end() && first[1] - e.begin_ns <= kCutPythonNs && first[1] < e.end_ns()) ++first;
        e.dur_ns -= *first - e.begin_ns;
        e.begin_ns = *first;
        e.flags |= kEventClamped;
      }
      auto last = std::lower_bound(edges.begin(), edges.end(), e.end_ns());
      while (last != edges.begin() && last[-1] > e.begin_ns && e.end_ns() - last[-1] <= kCutPythonNs) {
        cut(e, *--last - kRoundingNs);
      }
    }
  }

  static void cut(Event& e, i64 end_ns) {
    e.dur_ns = std::max<i64>(end_ns - e.begin_ns, 0);
    e.flags |= kEventClamped;
  }

  void sort() {
    stable_sort_if_needed(events_, [](const Event& a, const Event& b) {
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
      return (a.flags & kEventStep) > (b.flags & kEventStep);
    });
  }

  enum class Resolution { cut_top, cut, move_top, move };

  // Decides between two ranges that cross, of which `top` began first. A step stays; else the one that is no Python
  // call; else the one that is not async; else the one that began first.
  Resolution resolution_of(const Event& top, const Event& e) const {
    bool step = e.flags & kEventStep, async = (e.flags | top.flags) & kEventAsync;
    bool python = is_python(top) != is_python(e) && !async;
    i64 beyond = e.end_ns() - top.end_ns();
    i64 cut_ns = python && !exact_ ? kCutPythonNs : 0;
    if (is_python(top) && top.end_ns() - e.begin_ns <= cut_ns) return Resolution::cut_top;
    if (is_python(e) && beyond <= cut_ns) return Resolution::cut;
    if (!step && !async && beyond <= kClampNs) return Resolution::cut;
    bool top_goes = step || (python && is_python(top)) || (!(e.flags & kEventAsync) && (top.flags & kEventAsync));
    return top_goes && !(top.flags & kEventStep) ? Resolution::move_top : Resolution::move;
  }

  void find_crossing(const std::vector<u32>& row) {
    std::vector<u32> stack;
    for (u32 i : row) {
      Event& e = events_[i];
      bool here = true;
      while (here && !stack.empty()) {
        Event& top = events_[stack.back()];
        if (top.end_ns() <= e.begin_ns) {
          stack.pop_back();
          continue;
        }
        if (e.end_ns() <= top.end_ns()) break;
        switch (resolution_of(top, e)) {
          case Resolution::cut: cut(e, top.end_ns()); break;
          case Resolution::cut_top: cut(top, e.begin_ns - kRoundingNs); break;
          case Resolution::move_top:
            moved_.push_back(stack.back());
            stack.pop_back();
            break;
          case Resolution::move: moved_.push_back(i); here = false;
        }
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
    e.thread = u32(model_.threads.size());
    model_.threads.push_back(thread);
    lanes.push_back({e.thread, {e.end_ns()}});
  }

  void set_parents() {
    std::vector<std::vector<u32>> stacks(model_.threads.size());
    for (u32 i = 0; i < events_.size(); i++) {
      Event& e = events_[i];
      std::vector<u32>& stack = stacks[e.thread];
      while (!stack.empty() && events_[stack.back()].end_ns() <= e.begin_ns) stack.pop_back();
      e.parent = stack.empty() ? -1 : i32(stack.back());
      e.depth = u16(stack.size());
      if (exact_ || !is_deep(e)) stack.push_back(i);
    }
  }

  // Readers add ts and dur as doubles of microseconds, which round to about a nanosecond, so a range that ends exactly
  // with the one around it (when both are clipped, for example) might appear to cross it.
  void separate_ends() {
    for (Event& e : events_) {
      if (e.parent < 0) continue;
      i64 last = events_[e.parent].end_ns() - kRoundingNs;
      if (e.end_ns() > last) e.dur_ns = std::max<i64>(last - e.begin_ns, 0);
    }
  }

  // Leaves out the levels beyond the deepest; all children of such a range are left out, too.
  void fold() {
    if (exact_) return;
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
  static bool is_deep(const Event& e) { return e.depth >= deepest(e) && !(e.flags & kEventStep); }

  Model& model_;
  std::vector<Event>& events_;
  bool exact_;  // keep times and depths
  std::vector<u32> moved_;
  std::unordered_map<u32, std::vector<Lane>> lanes_;  // by owner
  u32 lane_count_ = 0;
};

}  // namespace

void nest_events(Model& model, bool exact) { Nester(model, exact).run(); }

}  // namespace tprof
