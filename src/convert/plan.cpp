#include "convert/plan.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "model/settled.h"
#include "model/spans.h"

namespace tprof {
namespace {

// Which parts are written if not all are: those that hold steps come before those that are evaluations alone.
std::vector<bool> chosen_parts(const std::vector<SpanCut>& cuts, size_t max_count) {
  std::vector<bool> chosen(cuts.size());
  size_t count = 0;
  for (bool with_steps : {true, false})
    for (size_t i = 0; i < cuts.size(); i++) {
      if ((cuts[i].first_step >= 0) != with_steps || count == max_count) continue;
      chosen[i] = true;
      count++;
    }
  return chosen;
}

class Planner {
 public:
  Planner(const OpenRecording& recording, const ConvertOptions& options, ConvertState& state)
      : recording_(*recording.reader),
        meta_(recording.meta),
        meta_damage_(recording.meta_damage),
        alive_(recording.alive),
        options_(options),
        state_(state),
        clock_(clock_of(recording_, meta_)) {
    plan_.complete = !alive_;
  }

  Plan run() {
    if (options_.first_step >= 0)
      plan_steps();
    else
      plan_all();
    return std::move(plan_);
  }

 private:
  // A stretch of the recording; end 0: to its last stamp.
  struct TickRange {
    u64 begin = 0, end = 0;
  };

  void plan_all();
  bool is_leaders(const WindowInfo& window) const;
  void plan_marks(const WindowInfo& window);
  void plan_flushes();
  void plan_window(const WindowInfo& window);
  void plan_ring(const WindowInfo& window);
  void take_last_steps(SpanRequest& request, size_t count) const;
  void plan_parts(const WindowInfo& window);
  void note_rest(const std::vector<SpanCut>& cuts, const std::vector<bool>& chosen);
  void plan_last_ledger();
  void plan_steps();
  std::optional<TickRange> requested_steps(const std::vector<StepInfo>& steps) const;
  i64 steps_in(const SpanRequest& span) const;
  void plan_steps_of(const WindowInfo& window, const TickRange& range, bool has_steps);
  void add_job(SpanRequest request, u64 name_ticks, i64 name_offset_ns, i64 step_number, bool last_of_window);
  SpanRequest newest_part(SpanRequest request);
  bool drops_are_reported() const;
  // For cutting: the window of a crashed program has no end of its own.
  u64 end_of(const WindowInfo& window) {
    return window.end_ticks ? window.end_ticks : last_ticks_of(recording_, meta_) + 1;
  }

  Recording& recording_;
  const Meta& meta_;
  const Damage& meta_damage_;
  const bool alive_;
  const ConvertOptions& options_;
  ConvertState& state_;
  ClockMap clock_;
  Plan plan_;
};

void Planner::plan_all() {
  plan_flushes();
  size_t planned = 0;
  for (const WindowInfo& w : meta_.windows) {
    if (is_leaders(w)) continue;
    if (!w.is_recorded()) {
      if (alive_ && w.state == WindowState::warmup) plan_.complete = false;
      continue;
    }
    if (w.state != WindowState::sealed && (alive_ || options_.only_sealed)) {
      plan_.complete = false;
      continue;
    }
    if (state_.windows.count(w.number)) {
      plan_marks(w);
      continue;
    }
    if (is_given_back(recording_, w.number)) {  // a part of it would pass for the whole
      plan_.note = kGivenBack;
      plan_marks(w);
      continue;
    }
    if (options_.max_windows && planned++ == options_.max_windows) {
      plan_.more = true;
      break;
    }
    if (meta_.is_flight())
      plan_ring(w);
    else if (w.first_step == -1)
      plan_parts(w);
    else
      plan_window(w);
  }
  if (plan_.more) plan_.complete = false;
  plan_last_ledger();
}

// True for a window that a program recorded while it was still a helper and followed the windows of its leader. A
// program with a schedule has windows of its own.
bool Planner::is_leaders(const WindowInfo& window) const {
  bool program = recording_.header().role == u32(Role::program);
  bool scheduled = !meta_.option("schedule").empty() || !meta_.option("steps").empty();
  return program && scheduled && window.first_step == -1;
}

// A window of inference was written, and later the program began to train: its traces are to be marked. The next
// conversion does that: the finisher's with the next window, at the latest the one after the program has ended. Nobody
// waits for these traces any more, so the finisher is not woken for them.
void Planner::plan_marks(const WindowInfo& window) {
  if (state_.training_marked || !is_before_training(window, meta_)) return;
  size_t first = plan_.jobs.size();
  if (meta_.is_flight())
    plan_ring(window);
  else
    window.first_step == -1 ? plan_parts(window) : plan_window(window);
  for (size_t i = first; i < plan_.jobs.size(); i++) {
    plan_.jobs[i].only_to_mark = true;
    plan_.jobs[i].last_of_window = false;
  }
}

void Planner::plan_flushes() {
  for (u32 i = 0; i < meta_.flushes.size(); i++) {
    u64 ticks = meta_.flushes[i];
    bool written = state_.flushes.count(i);
    if (written && (state_.training_marked || ticks > meta_.training_ticks)) continue;
    for (const WindowInfo& w : meta_.windows) {
      if (!w.is_recorded() || ticks <= w.begin_ticks || (w.end_ticks && ticks > w.end_ticks)) continue;
      SpanRequest request = request_of(w, meta_);
      request.end_ticks = ticks;
      request.goes_on = true;
      request.kind = "flush";
      add_job(written ? request : newest_part(request), ticks, 0, -1, false);
      plan_.jobs.back().flush = i;
      plan_.jobs.back().only_to_mark = written;
      break;
    }
  }
}

void Planner::plan_window(const WindowInfo& window) {
  SpanRequest request = request_of(window, meta_);
  // What follows the last step of a loop is no step. A program in which no step was found gets what there is.
  bool has_step = false, any_step = false;
  u64 end = end_of(window);
  for (const StepInfo& s : settled_steps(meta_, request.before_training)) {
    any_step = true;
    has_step |= s.begin_ticks >= request.begin_ticks && s.begin_ticks < end;
  }
  if (!has_step && (any_step || window.first_step > 0)) {
    state_.windows.insert(window.number);
    return;
  }
  add_job(request, request.begin_ticks, 0, window.end_ticks ? window.end_step : -1, true);
}

// What flight mode kept, with or without steps. The epochs after it belong to a ring that goes on.
void Planner::plan_ring(const WindowInfo& window) {
  SpanRequest request = request_of(window, meta_);
  request.last_epoch = 2 * window.number + 1;
  request.kind = kFlightKind;
  for (const TriggerRecord& t : meta_.triggers)
    if (t.head.id == window.number) {
      request.goes_on = true;
      if (t.steps) take_last_steps(request, size_t(t.steps));
    }
  add_job(request, request.begin_ticks, 0, -1, true);
}

// Leaves out what precedes the last so many whole steps.
void Planner::take_last_steps(SpanRequest& request, size_t count) const {
  std::vector<u64> begins;
  for (const StepInfo& s : settled_steps(meta_))
    if (s.begin_ticks >= request.begin_ticks && s.end_ticks && s.end_ticks <= request.end_ticks)
      begins.push_back(s.begin_ticks);
  if (begins.size() > count) request.begin_ticks = begins[begins.size() - count];
}

// Everything from start to exit, in parts that a viewer can hold.
void Planner::plan_parts(const WindowInfo& window) {
  SpanRequest whole = request_of(window, meta_);
  bool died = whole.end_ticks == 0;
  whole.end_ticks = end_of(window);
  std::vector<SpanCut> cuts = cut_spans(recording_, meta_, whole, options_.max_events_per_span);
  if (cuts.empty()) {
    state_.windows.insert(window.number);
    return;
  }
  std::vector<bool> chosen = chosen_parts(cuts, size_t(options_.max_spans));
  for (size_t i = 0; i < cuts.size(); i++) {
    if (!chosen[i]) continue;
    SpanRequest request = whole;
    request.begin_ticks = cuts[i].begin_ticks;
    // The last part of a process that died has no end: what is open there is unfinished, not cut.
    bool last = i + 1 == cuts.size();
    request.end_ticks = last && died ? 0 : cuts[i].end_ticks;
    request.kind = cuts.size() > 1 ? "part" : "window";
    if (i) request.warmup_ticks = 0;
    add_job(request, request.begin_ticks, 0, -1, false);
  }
  plan_.jobs.back().last_of_window = true;
  note_rest(cuts, chosen);
}

// Sums up the parts that are not written.
void Planner::note_rest(const std::vector<SpanCut>& cuts, const std::vector<bool>& chosen) {
  Rest rest;
  for (size_t i = 0; i < cuts.size(); i++) {
    if (chosen[i]) continue;
    rest.events += cuts[i].events;
    if (cuts[i].first_step < 0) continue;
    if (rest.first_step < 0) rest.first_step = cuts[i].first_step;
    rest.end_step = cuts[i].end_step;
  }
  if (!rest.events) return;
  bool any_step = std::any_of(cuts.begin(), cuts.end(), [](const SpanCut& cut) { return cut.first_step >= 0; });
  if (any_step && rest.first_step < 0) rest.first_step = -2;
  plan_.complete = false;
  plan_.rest = rest;
  plan_.note = rest_text(rest, recording_.path());
}

// If recording had to stop, some trace must report what was dropped. Where no other trace does, that is the trace of
// the last window, which is written even if it is empty.
void Planner::plan_last_ledger() {
  const FileHeader& h = recording_.header();
  if (alive_ || h.stopped.load() == 0 || h.role.load() != u32(Role::program) || drops_are_reported()) return;
  for (size_t i = meta_.windows.size(); i-- > 0 && plan_.jobs.empty();) {
    const WindowInfo& w = meta_.windows[i];
    SpanRequest request = request_of(w, meta_);
    if (w.is_recorded()) add_job(request, request.begin_ticks, 0, -1, false);
  }
  if (!plan_.jobs.empty()) plan_.jobs.back().even_if_empty = true;
}

bool Planner::drops_are_reported() const {
  const std::vector<u64>& reported = state_.drops_reported;
  for (size_t i = 0; i < std::size(kDropNames); i++)
    if (recording_.header().dropped[i].load() > (i < reported.size() ? reported[i] : 0)) return false;
  return true;
}

// Exactly the steps that were requested, whichever windows hold them.
void Planner::plan_steps() {
  plan_.complete = false;
  std::vector<StepInfo> steps = settled_steps(meta_);
  if (std::optional<TickRange> range = requested_steps(steps))
    for (const WindowInfo& w : meta_.windows) {
      if (!w.is_recorded()) continue;
      if (w.state != WindowState::sealed && alive_)
        plan_.note = "the program still records; convert again when it has ended";
      else
        plan_steps_of(w, *range, !steps.empty());
    }
  if (plan_.jobs.empty() && plan_.note.empty())
    plan_.note = "steps " + std::to_string(options_.first_step) + ":" + std::to_string(options_.end_step) +
                 " are not in the recording (see tprof info)";
}

// Where the requested steps lie; none: they are not in the recording. In a recording without any step there is nothing
// to choose by, and all of it is taken.
std::optional<Planner::TickRange> Planner::requested_steps(const std::vector<StepInfo>& steps) const {
  TickRange range;
  if (steps.empty()) return range;
  bool found = false;
  u64 last = 0;
  for (const StepInfo& s : steps) {
    bool inside = s.number >= options_.first_step && (options_.end_step < 0 || s.number < options_.end_step);
    if (inside && !found) range.begin = s.begin_ticks;
    if (inside) last = s.begin_ticks;
    if (!inside && found && range.end == 0) range.end = s.begin_ticks;
    found = found || inside;
  }
  if (!found) return std::nullopt;
  // An evaluation that follows the last of them is left out.
  for (const StretchInfo& s : settled_stretches(meta_))
    if (last && s.begin_ticks > last && (!range.end || s.begin_ticks < range.end) && !(s.flags & kStretchInside))
      range.end = s.begin_ticks;
  return range;
}

// How many steps begin in a span.
i64 Planner::steps_in(const SpanRequest& span) const {
  std::vector<StepInfo> steps = settled_steps(meta_);
  return std::count_if(steps.begin(), steps.end(), [&](const StepInfo& s) {
    return s.begin_ticks >= span.begin_ticks && (!span.end_ticks || s.begin_ticks < span.end_ticks);
  });
}

void Planner::plan_steps_of(const WindowInfo& window, const TickRange& range, bool has_steps) {
  SpanRequest whole = request_of(window, meta_);
  u64 window_end = end_of(window);
  whole.begin_ticks = std::max(range.begin, window.begin_ticks);
  whole.end_ticks = range.end ? std::min(range.end, window_end) : window_end;
  whole.kind = "steps";
  whole.warmup_ticks = 0;
  if (has_steps) {
    whole.first_step = options_.first_step;
    whole.end_step = options_.end_step;
  }
  if (whole.begin_ticks >= whole.end_ticks) return;
  for (const SpanCut& cut : cut_spans(recording_, meta_, whole, options_.max_events_per_span)) {
    SpanRequest request = whole;
    request.begin_ticks = cut.begin_ticks;
    bool died = cut.end_ticks == window_end && window.end_ticks == 0;
    request.end_ticks = died ? 0 : cut.end_ticks;
    // Its name is a few ns apart from that of the window's own trace, and from that of another number of steps, which
    // may begin at the same step.
    add_job(request, request.begin_ticks, 1 + steps_in(request), -1, false);
  }
}

void Planner::add_job(SpanRequest request, u64 name_ticks, i64 name_offset_ns, i64 step_number, bool last_of_window) {
  request.meta_damage = meta_damage_;
  TraceJob job;
  job.ended_before_training =
      request.before_training || (request.end_ticks && request.end_ticks <= meta_.training_ticks);
  // The name of a trace must not depend on how many clock stamps follow. Before the first one (the window of a child
  // began in its parent) only the rate is known, which depends on all of them.
  if (!meta_.clocks.empty()) name_ticks = std::max(name_ticks, meta_.clocks.front().ticks);
  job.name_ns = u64(std::max<i64>(clock_.realtime_ns(name_ticks) + name_offset_ns, 0));
  job.request = std::move(request);
  job.step_number = step_number;
  job.last_of_window = last_of_window;
  plan_.jobs.push_back(std::move(job));
}

// A flush of a long recording shows the newest part that fits.
SpanRequest Planner::newest_part(SpanRequest request) {
  std::vector<SpanCut> cuts = cut_spans(recording_, meta_, request, options_.max_events_per_span);
  if (cuts.size() > 1) {
    request.begin_ticks = cuts.back().begin_ticks;
    request.warmup_ticks = 0;
  }
  return request;
}

}  // namespace

bool is_given_back(const Recording& recording, i64 window) {
  return 2 * u64(window) + 1 < recording.header().given_back.load();
}

Plan plan_traces(const OpenRecording& recording, const ConvertOptions& options, ConvertState& state) {
  return Planner(recording, options, state).run();
}

}  // namespace tprof
