#include "model/step_edges.h"

#include <algorithm>

#include "model/settled.h"

namespace tprof {
namespace {

// A rest that is shorter than this part of its step stays the step's: what a loop does before it draws from its loader
// anew, say.
constexpr double kLeastRest = 0.01;

bool in_order(const StepEdge& a, const StepEdge& b) { return a.begin_ns < b.begin_ns; }

}  // namespace

StepEdges::StepEdges(const Meta& meta, bool before_training, i64 begin_ns, i64 end_ns, bool goes_on,
                     const std::function<i64(u64)>& to_ns)
    : meta_(meta), begin_ns_(begin_ns), end_ns_(end_ns), goes_on_(goes_on), to_ns_(to_ns) {
  gather(meta, before_training);
  if (!before_training) add_left_over(meta);
  std::stable_sort(edges_.begin(), edges_.end(), in_order);
  bound();
  Usual usual = this->usual();
  for (size_t i = 0; i < edges_.size(); i++)
    if (edges_[i].step) settle(i, usual);
  add_rests();
}

void StepEdges::gather(const Meta& meta, bool before_training) {
  steps_ = settled_steps(meta, before_training);
  auto add = [this](const auto& info, const StepInfo* step, const StretchInfo* stretch) {
    i64 end = info.end_ticks ? to_ns_(info.end_ticks) : INT64_MAX;
    edges_.push_back({to_ns_(info.begin_ticks), end, info.end_ticks == 0, step, stretch});
  };
  for (const StepInfo& s : steps_) add(s, &s, nullptr);
  for (const StretchInfo& s : settled_stretches(meta, before_training)) {
    if (s.flags & kStretchInside)
      inside_.push_back(s);
    else
      add(s, nullptr, &between_.emplace_back(s));
  }
}

// The program ended with gradients that it never used: those of fewer batches than it accumulates over.
void StepEdges::add_left_over(const Meta& meta) {
  auto last = std::max_element(meta.steps.begin(), meta.steps.end(),
                               [](auto& a, auto& b) { return a.begin_ticks < b.begin_ticks; });
  if (last == meta.steps.end() || !(last->flags & kStepWithdrawn) || !(last->flags & kStepHasWork)) return;
  StretchInfo rest{StretchKind::left_over, 0, last->begin_ticks, 0, 0, 0, 0, 0, last->tid};
  i64 end = last->loop_end_ticks > last->begin_ticks ? to_ns_(last->loop_end_ticks) : INT64_MAX;
  bool open = end == INT64_MAX;
  edges_.push_back({to_ns_(last->begin_ticks), end, open, nullptr, &between_.emplace_back(rest), StepCut::none, !open});
}

void StepEdges::bound() {
  for (size_t i = 0; i < edges_.size(); i++) {
    StepEdge& edge = edges_[i];
    const StepEdge* next = i + 1 < edges_.size() ? &edge + 1 : nullptr;
    edge.end_ns = next ? std::min(edge.end_ns, next->begin_ns) : edge.open ? end_ns_ : edge.end_ns;
    // If a step follows, its start is the end. If an evaluation follows, the end may be earlier.
    if (next && next->step) edge.open = false;
  }
}

StepEdges::Usual StepEdges::usual() const {
  Usual out;
  for (size_t i = 0; i + 1 < edges_.size(); i++) {
    const StepInfo* step = edges_[i].step;
    if (!step || !edges_[i + 1].step || !step->work_ticks) continue;
    bool exact = step->loop_end_ticks >= step->work_ticks;
    i64 tail = (exact ? to_ns_(step->loop_end_ticks) : edges_[i].end_ns) - to_ns_(step->work_ticks);
    if (tail < 0) continue;  // a step that was made afterwards
    out.updates = out.known ? std::min(out.updates, step->updates) : step->updates;
    out.tail_ns = std::max(out.tail_ns, tail);
    out.known = true;
  }
  return out;
}

void StepEdges::settle(size_t at, const Usual& usual) {
  StepEdge& edge = edges_[at];
  const StepInfo& step = *edge.step;
  bool done = is_done(step, usual);
  i64 worked = done ? to_ns_(step.work_ticks) : edge.end_ns;
  bool is_usual = std::min(edge.end_ns, end_ns_) - worked <= std::max(usual.tail_ns, worked - edge.begin_ns);
  bool stated = step.by == StepBy::profiler_step && at + 1 < edges_.size() && edges_[at + 1].step;
  bool exact = !stated && step.loop_end_ticks > step.begin_ticks && step.loop_end_ticks >= step.work_ticks;
  if (exact)
    end_at(edge, to_ns_(step.loop_end_ticks), StepCut::none);
  else if (is_cut(edge) && !done)
    edge.cut = StepCut::left;
  else if (is_cut(edge) && is_usual)
    edge.cut = StepCut::left_updated;
  else if (done && (is_cut(edge) || is_last_of_loop(at, is_usual)))
    end_at(edge, worked, StepCut::last_update);
  // The program drew a batch and then ended: what followed is no step.
  edge.leaves_rest |= exact && !goes_on_ && at + 1 == edges_.size();
  if (edge.begin_ns < begin_ns_ || step.flags & kStepEntered) edge.cut = StepCut::entered;
}

// It has had all its updates, or in an inference its call, and it is known when.
bool StepEdges::is_done(const StepInfo& step, const Usual& usual) const {
  if (!step.work_ticks) return false;
  if (is_found_by_updates(step.by)) return step.updates && step.updates >= usual.updates;
  return step.by == StepBy::forward || step.by == StepBy::inference_batch;
}

// Recording ended inside of it.
bool StepEdges::is_cut(const StepEdge& edge) const {
  bool beyond = edge.begin_ns < end_ns_ && edge.end_ns > end_ns_;
  return edge.step->flags & kStepLeft || beyond || (edge.open && goes_on_);
}

// No other step of its loop follows.
bool StepEdges::is_last_of_loop(size_t at, bool is_usual) const {
  const StepInfo& step = *edges_[at].step;
  const StepEdge* next = at + 1 < edges_.size() ? &edges_[at + 1] : nullptr;
  bool drawn_out = step.loop_end_ticks != 0;  // its loader, which is drawn from in advance
  if (next && drawn_out && (next->stretch || next->step->by == StepBy::dataloader)) return true;
  if (next && next->step) return false;
  bool is_last = std::none_of(edges_.begin() + i64(at) + 1, edges_.end(), [](const StepEdge& e) { return e.step; });
  if (ends_with_window(step)) return next && !is_usual;
  return is_last;
}

// The step that followed is not in the recording.
bool StepEdges::ends_with_window(const StepInfo& step) const {
  return std::any_of(meta_.windows.begin(), meta_.windows.end(), [&](const WindowInfo& w) {
    return w.first_step >= 0 && step.end_ticks && w.end_ticks == step.end_ticks;
  });
}

void StepEdges::end_at(StepEdge& edge, i64 ns, StepCut cut) {
  if (ns >= edge.end_ns && !edge.open) return;
  bool goes_to_the_end = edge.end_ns >= end_ns_, stated = edge.step->by == StepBy::range;
  if (!goes_to_the_end && !stated && double(edge.end_ns - ns) < kLeastRest * double(ns - edge.begin_ns)) return;
  edge.end_ns = std::min(edge.end_ns, ns);
  edge.open = false;
  edge.cut = cut;
  edge.leaves_rest = true;
}

// Of the window in which it begins; INT64_MAX: that is open.
i64 StepEdges::window_end(const StepEdge& edge) const {
  for (const WindowInfo& w : meta_.windows) {
    i64 end = w.end_ticks ? to_ns_(w.end_ticks) : INT64_MAX;
    if (w.is_recorded() && to_ns_(w.begin_ticks) <= edge.begin_ns && edge.begin_ns < end) return end;
  }
  return INT64_MAX;
}

// Between what has ended and what follows in its window.
void StepEdges::add_rests() {
  std::vector<StepEdge> rests;
  i64 counts[2] = {};
  for (size_t i = 0; i < edges_.size(); i++) {
    const StepEdge& edge = edges_[i];
    if (!edge.leaves_rest || edge.end_ns >= end_ns_) continue;
    i64 limit = std::min(i + 1 < edges_.size() ? edges_[i + 1].begin_ns : end_ns_, window_end(edge));
    bool stated = edge.step && edge.step->by == StepBy::range;  // the user has said where it ends
    if (double(limit - edge.end_ns) <= (stated ? 0 : kLeastRest * double(edge.end_ns - edge.begin_ns))) continue;
    u32 tid = edge.step ? edge.step->tid : edge.stretch->tid;
    bool between = stated && i + 1 < edges_.size() && edges_[i + 1].step;
    StretchKind kind = between ? StretchKind::between : StretchKind::after_loop;
    StretchInfo rest{kind, counts[between]++, 0, 0, 0, 0, 0, 0, tid};
    rests.push_back({edge.end_ns, limit, false, nullptr, &between_.emplace_back(rest)});
  }
  edges_.insert(edges_.end(), rests.begin(), rests.end());
  std::stable_sort(edges_.begin(), edges_.end(), in_order);
}

}  // namespace tprof
