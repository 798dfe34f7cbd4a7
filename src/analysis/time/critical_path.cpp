#include "analysis/time/critical_path.h"

#include <algorithm>
#include <set>

#include "analysis/basis/launches.h"

namespace tprof {
namespace {

constexpr u32 kAnyDevice = kNone;

bool is_work(Activity a) { return a != Activity::between && a != Activity::nothing; }

}  // namespace

const char* path_kind_text(PathKind kind) {
  static constexpr const char* kTexts[] = {
#define PATH(name, text) text,
      TPROF_PATH_KINDS(PATH)
#undef PATH
  };
  return kTexts[u32(kind)];
}

struct CriticalPaths::Walk {
  const Interval& step;
  i64 ns;            // the path from here to the step's end is known
  u32 work = kNone;  // the GPU activity that ends at ns; kNone: the walk is on the host, in `thread`
  u32 thread = 0;
  CriticalPath path = {};

  // Extends the path to begin.
  void take(i64 begin, PathPiece piece) {
    begin = std::max(begin, step.begin);
    if (begin >= ns) return;
    piece.begin_ns = begin;
    piece.end_ns = ns;
    path.by_kind[u32(piece.kind)] += ns - begin;
    if (piece.kind == PathKind::host) path.by_activity[u32(piece.activity)] += ns - begin;
    path.pieces.push_back(piece);
    ns = begin;
  }
};

CriticalPaths::CriticalPaths(const Model& model, const NameClasses& classes, HostTimelines& timelines)
    : model_(model),
      classes_(classes),
      timelines_(timelines),
      position_(model.gpu.size(), kNone),
      main_(main_thread_of(model)) {
  for (u32 i = 0; i < model.gpu.size(); i++)
    if (model.gpu[i].runs_on_gpu()) by_end_.push_back(i);
  std::stable_sort(by_end_.begin(), by_end_.end(),
                   [&](u32 a, u32 b) { return model.gpu[a].end_ns() < model.gpu[b].end_ns(); });
  for (u32 k = 0; k < by_end_.size(); k++) position_[by_end_[k]] = k;
  std::set<u32> threads;
  if (main_ != kNone) threads.insert(main_);
  for (const CallEvent& call : model.calls)
    if (call.activities) threads.insert(call.thread);
  for (const Event& e : model.events)
    if (static_cast<Scope>(e.scope) == Scope::backward) threads.insert(e.thread);
  threads_.assign(threads.begin(), threads.end());
}

// The device's activity that ended last up to `ns`, among the first `before` of by_end_; kNone: none.
u32 CriticalPaths::work_ended_by(i64 ns, u32 device, u32 before) const {
  auto limit = by_end_.begin() + std::min<i64>(before, i64(by_end_.size()));
  auto at = std::partition_point(by_end_.begin(), limit, [&](u32 i) { return model_.gpu[i].end_ns() <= ns; });
  while (at != by_end_.begin()) {
    --at;
    if (device == kAnyDevice || model_.gpu[*at].device == device) return *at;
  }
  return kNone;
}

CriticalPath CriticalPaths::of(const Interval& step) {
  Walk at{step, step.end};
  at.thread = main_ == kNone ? 0 : main_;
  u32 last = work_ended_by(step.end, kAnyDevice, kNone);
  bool gpu_ends = last != kNone && model_.gpu[last].end_ns() == step.end && step.end > step.begin;
  if (gpu_ends || model_.threads.empty()) at.work = last;
  while (at.ns > step.begin) {
    if (at.work != kNone)
      walk_work(at);
    else if (!model_.threads.empty())
      walk_host(at);
    else
      at.take(step.begin, {0, 0, PathKind::host});
  }
  std::reverse(at.path.pieces.begin(), at.path.pieces.end());
  return std::move(at.path);
}

void CriticalPaths::walk_work(Walk& at) {
  const GpuEvent& work = model_.gpu[at.work];
  static constexpr PathKind kKinds[] = {PathKind::computation, PathKind::communication, PathKind::copy};
  u32 index = at.work;
  at.take(work.begin_ns, {0, 0, kKinds[u32(classes_.work(work))], Activity::nothing, index});
  u32 before = work_ended_by(work.begin_ns, work.device, position_[index]);
  if (launched_late(work, before)) {
    const CallEvent& call = model_.calls[work.call];
    if (work.begin_ns - call.end_ns() > kLongDelayNs)
      at.take(call.end_ns(), {0, 0, PathKind::held_up, Activity::nothing, index});
    at.take(call.begin_ns, {0, 0, PathKind::launch, Activity::launching, index, work.call});
    at.thread = call.thread;
    at.work = kNone;
  } else {
    i64 from = before == kNone ? at.step.begin : model_.gpu[before].end_ns();
    at.take(from, {0, 0, PathKind::gap, Activity::nothing, index});
    at.work = before;
  }
}

// Whether the launch of the activity came after the end of the device's previous one. A call hands its work to the
// device at some time before it returns; if it then waited, or part of its work had started already, it is assumed to
// have done so when it was called.
bool CriticalPaths::launched_late(const GpuEvent& work, u32 before) const {
  if (work.call == kNone) return false;
  const CallEvent& call = model_.calls[work.call];
  if (call.begin_ns >= work.begin_ns) return false;
  if (before == kNone) return true;
  const GpuEvent& other = model_.gpu[before];
  bool given_at_begin = other.call == work.call || timelines_.waits().of(work.call);
  return (given_at_begin ? call.begin_ns : call.end_ns()) > other.end_ns();
}

// The activity that the piece waited for and that ended in (from, until]; kNone: none.
u32 CriticalPaths::waited_for(const PathPiece& piece, i64 from, i64 until) const {
  const Wait* wait = piece.call == kNone ? nullptr : timelines_.waits().of(piece.call);
  bool waits = piece.activity == Activity::synchronising;
  u32 work = !wait ? kNone : waits ? wait->work : wait->own;
  auto fits = [&](u32 i) { return i != kNone && model_.gpu[i].end_ns() > from && model_.gpu[i].end_ns() <= until; };
  if (waits && !fits(work)) work = work_ended_by(until, kAnyDevice, kNone);  // the walk entered the wait in its middle
  return fits(work) ? work : kNone;
}

void CriticalPaths::walk_host(Walk& at) {
  const std::vector<ActivityPiece>& all = timelines_.of(at.thread);
  auto after = std::partition_point(all.begin(), all.end(), [&](const ActivityPiece& x) { return x.begin_ns < at.ns; });
  bool inside = after != all.begin() && after[-1].end_ns >= at.ns;
  i64 before = after == all.begin() ? at.step.begin : after[-1].end_ns;
  ActivityPiece now = inside ? after[-1] : ActivityPiece{before, at.ns, Activity::nothing};
  PathPiece piece{0, 0, PathKind::host, now.activity, kNone, now.call, now.event};
  i64 from = std::max(now.begin_ns, at.step.begin);
  if (u32 work = waited_for(piece, from, at.ns); work != kNone) {
    at.take(model_.gpu[work].end_ns(), piece);
    at.work = work;
    return;
  }
  if (!is_work(now.activity)) {
    u32 other;
    if (i64 until = busy_elsewhere(at.thread, from, at.ns, other); until > from) {
      at.take(until, piece);
      at.thread = other;
      return;
    }
  }
  at.take(from, piece);
}

// When another of the job's threads was last busy in (begin, end]; `begin` if none was.
i64 CriticalPaths::busy_elsewhere(u32 thread, i64 begin, i64 end, u32& other) {
  i64 best = begin;
  for (u32 t : threads_) {
    if (t == thread) continue;
    const std::vector<ActivityPiece>& all = timelines_.of(t);
    auto at = std::partition_point(all.begin(), all.end(), [&](const ActivityPiece& x) { return x.begin_ns < end; });
    while (at != all.begin() && at[-1].end_ns > best) {
      --at;
      if (!is_work(at->activity)) continue;
      best = std::min(at->end_ns, end);
      other = t;
      break;
    }
  }
  return best;
}

}  // namespace tprof
