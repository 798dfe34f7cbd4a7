#include "analysis/time/activity.h"

#include <algorithm>

#include "analysis/basis/innermost.h"

namespace tprof {

const char* activity_text(Activity activity) {
  static constexpr const char* kTexts[] = {
#define ACTIVITY(name, text) text,
      TPROF_ACTIVITIES(ACTIVITY)
#undef ACTIVITY
  };
  return kTexts[u32(activity)];
}

HostTimelines::HostTimelines(const Model& model, const NameClasses& classes, const Waits& waits)
    : model_(model), classes_(classes), waits_(waits), spans_(model.threads.size()) {
  size_t c = 0;
  auto add_calls_until = [&](i64 ns) {
    for (; c < model.calls.size() && model.calls[c].begin_ns < ns; c++)
      spans_[model.calls[c].thread].push_back({model.calls[c].begin_ns, model.calls[c].end_ns(), u32(c), true});
  };
  for (u32 i = 0; i < model.events.size(); i++) {
    const Event& event = model.events[i];
    add_calls_until(event.begin_ns);
    spans_[event.thread].push_back({event.begin_ns, event.end_ns(), i, false});
  }
  add_calls_until(INT64_MAX);
}

const std::vector<ActivityPiece>& HostTimelines::of(u32 thread) {
  auto [at, added] = made_.try_emplace(thread);
  if (added) at->second = flatten(spans_[thread]);
  return at->second;
}

// Labels, steps and Python functions are not activities: a thread directly inside them is between operators.
ActivityPiece HostTimelines::piece_of(const std::vector<Span>& open) const {
  ActivityPiece out{0, 0, Activity::between};
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    if (at->is_call) {
      const CallEvent& call = model_.calls[at->index];
      if (out.call != kNone) continue;
      out.call = at->index;
      out.activity = classes_.is(call, NameClass::allocates)  ? Activity::allocating
                     : classes_.is(call, NameClass::copies)   ? Activity::copying
                     : classes_.is(call, NameClass::launches) ? Activity::launching
                                                              : Activity::other_call;
      continue;
    }
    const Event& event = model_.events[at->index];
    if (out.event < 0) out.event = i32(at->index);
    if (classes_.is(event, NameClass::data_loading)) {
      out.activity = Activity::data_loading;
      out.event = i32(at->index);
      return out;
    }
    if (out.activity != Activity::between) continue;
    if (classes_.is(event, NameClass::communication_op))
      out.activity = Activity::communicating;
    else if (is_operator(event))
      out.activity = Activity::operating;
  }
  return out;
}

// A call that waited is split at the start and the end of its wait.
void HostTimelines::append(std::vector<ActivityPiece>& out, const ActivityPiece& piece) const {
  bool may_wait = piece.call != kNone && piece.activity != Activity::data_loading;
  const Wait* wait = may_wait ? waits_.of(piece.call) : nullptr;
  i64 from = wait ? std::clamp(wait->begin_ns, piece.begin_ns, piece.end_ns) : piece.end_ns;
  i64 until = wait ? std::clamp(wait->end_ns, from, piece.end_ns) : piece.end_ns;
  auto add = [&](i64 begin, i64 end, Activity activity) {
    if (end > begin) out.push_back({begin, end, activity, piece.event, piece.call});
  };
  add(piece.begin_ns, from, piece.activity);
  add(from, until, Activity::synchronising);
  add(until, piece.end_ns, piece.activity);
}

// A sweep with a stack. A span that ends after its parent is cut at the parent's end: a thread does one thing at a
// time.
std::vector<ActivityPiece> HostTimelines::flatten(const std::vector<Span>& spans) const {
  std::vector<ActivityPiece> out;
  std::vector<Span> open;
  i64 at = 0;
  auto emit_until = [&](i64 ns) {
    if (ns > at && !open.empty()) {
      ActivityPiece piece = piece_of(open);
      piece.begin_ns = at;
      piece.end_ns = ns;
      append(out, piece);
    }
    at = std::max(at, ns);
  };
  auto close_until = [&](i64 ns) {
    while (!open.empty() && open.back().end_ns <= ns) {
      emit_until(open.back().end_ns);
      open.pop_back();
    }
  };
  for (Span span : spans) {
    close_until(span.begin_ns);
    if (open.empty()) at = span.begin_ns;
    emit_until(span.begin_ns);
    if (!open.empty()) span.end_ns = std::min(span.end_ns, open.back().end_ns);
    if (span.end_ns > span.begin_ns) open.push_back(span);
  }
  close_until(INT64_MAX);
  return out;
}

}  // namespace tprof
