// Session, continued: how plans of the schedule become phases and windows.
//
// A tentative step starts recording at once where the schedule wants it, so that nothing of it is missed. It ends
// nothing: what would end a window waits until the step is confirmed (deferred_plan_). If the step is withdrawn,
// recording goes back to what it was: a window that it opened stays open, but paused, for the next step that may be the
// first.
#include "collect/recorder/recorder.h"
#include "collect/session/collector.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"
#include "collect/session/signals.h"

namespace tprof {
namespace {

u32 epoch_of(Phase phase, i64 window) {
  if (!records(phase)) return kNoEpoch;
  return u32(window) * 2 + (phase == Phase::active ? 1 : 0);
}

// The program itself said where the step starts.
bool is_stated(StepBy by) { return by == StepBy::api || by == StepBy::profiler_step; }

}  // namespace

// ---------------------------------------------------------------- what the framework reports

// Watching every node of autograd is expensive, and needless once all backward passes are known to come through Python.
Level Session::waiting_level() const {
  constexpr u32 kSure = 3;
  return announced_ < kSure || unannounced_ ? Level::steps : Level::marks;
}

void Session::set_level(Level level) {
  if (level == level_) return;
  level_ = level;
  if (frontend_.set_level) frontend_.set_level(level);
}

void Session::backward_announced() {
  announced_++;
  if (!resting_) return;
  SpinGuard guard(lock_);
  if (!live() || !resting_) return;
  detector_.forget();
  take_phase(Phase::wait);
}

// ---------------------------------------------------------------- phases

Plan Session::plan_for(i64 number) const {
  if (!armed_) return {Phase::wait, -1};
  if (ring_.is_on()) return {Phase::active, windows_.current() ? windows_.number() : windows_.next()};
  Plan plan = plan_of(options_.schedule, number - first_number_);
  if (plan.window >= 0)
    plan.window += window_base_;
  else if (number >= extra_.first && number < extra_.end)
    plan = {Phase::active, extra_.window};
  else if (listening_)
    plan.phase = Phase::wait;
  return plan;
}

// What the start of a step asks for. What would end a window is deferred, unless the program itself said that the step
// before ends here.
void Session::take_plan(const Plan& plan, i64 number, u64 ticks) {
  deferred_ = false;
  if (!paused_ && plan == plan_) return;
  WindowRecord* window = windows_.current();
  bool ends_window = window && !paused_ && plan.window != windows_.number();
  if (ends_window && !is_stated(step_.by)) {
    deferred_ = true;
    deferred_plan_ = plan;
    window->end_ticks = ticks;
    window->end_step = number;
    return;
  }
  apply_plan(plan, number, ticks);
}

void Session::apply_plan(const Plan& plan, i64 number, u64 ticks) {
  if (windows_.current() && plan.window != windows_.number()) end_window(number, ticks);
  if (records(plan.phase)) {
    if (!open_recording()) return;
    if (!windows_.current()) {
      step_.record = previous_step_.record = nullptr;
      if (!windows_.open(plan.window,
                         plan.phase == Phase::warmup ? ticks : 0)) {  // the disk was full: said by the writer
        finished_ = true;
        take_phase(Phase::ended);
        return;
      }
    }
    if (!windows_.is_active() && plan.phase == Phase::warmup) windows_.current()->warmup_ticks = ticks;
    if (!windows_.is_active() && plan.phase == Phase::active) {
      windows_.activate(options_.schedule.given ? number : -1, ticks);
      began_ = true;
    }
  }
  plan_ = plan;
  take_phase(plan.phase);
  if (ring_.is_on() && records(plan.phase)) start_ring(recording_epoch());
  if (records(plan.phase)) helper_start();
}

// Everybody who follows the phase learns of it. What is over may start again if a training follows an inference.
void Session::take_phase(Phase phase) {
  paused_ = false;
  if (phase == Phase::ended && !finished_ && !detector_.settled()) phase = Phase::resting;
  resting_ = phase == Phase::resting;
  Phase outside = resting_ ? Phase::wait : phase;
  u32 epoch = epoch_of(phase, plan_.window);
  tell_collectors(&Collector::phase_changed, outside);
  g_epoch.store(epoch, std::memory_order_release);
  if (FileHeader* h = g_writer.header()) {
    h->epoch.store(epoch);
    if (phase == Phase::active) h->last_epoch.store(epoch, std::memory_order_relaxed);
    h->phase.store(u32(outside), std::memory_order_release);
    g_writer.touch_meta();
  }
  bool over = phase == Phase::ended || resting_;
  set_level(over ? Level::none : records(phase) ? Level::all : waiting_level());
  tell_frontend(phase);
}

void Session::tell_frontend(Phase phase) {
  if (frontend_.phase_changed) frontend_.phase_changed(phase);
  lock_.afterwards(frontend_.pass_phase_on);
}

// Nothing is recorded until the next step; a window that is open stays so.
void Session::pause() {
  if (!records(plan_.phase) || paused_) return;
  take_phase(Phase::wait);
  paused_ = true;
}

void Session::start_by_hand() {
  forget_windows(now_ticks(), true);
  armed_ = true;
  first_number_ = detector_.number() < 0 ? 0 : detector_.number();
  u64 now = now_ticks();
  apply_plan(plan_for(first_number_), first_number_, now);
  if (detector_.between_steps()) return;
  record_step(detector_.number(), now, step_.by);
  if (step_.record) step_.record->flags |= kStepHasWork | kStepEntered;
}

void Session::stop_by_hand() {
  u64 now = now_ticks();
  deferred_ = false;  // the end of a window that waits for the step to be confirmed: it ends now
  if (step_.record && !step_.ended) {
    step_.record->end_ticks = now;
    step_.record->flags |= kStepLeft;
  }
  step_.record = nullptr;
  note_hand(now);
  apply_plan({Phase::wait, -1}, detector_.number() + 1, now);
  window_base_ = windows_.next();
  armed_ = false;
}

// ---------------------------------------------------------------- the ends of windows

void Session::end_window(i64 end_step, u64 ticks) {
  began_ = false;
  if (!family_.is_helper()) ring_.pin(u32(windows_.number()));
  windows_.end(end_step, ticks);
}

void Session::discard_window() {
  began_ = false;
  windows_.discard();
}

// The schedule starts anew. `keep`: a window that is open ends here, else it is discarded.
void Session::forget_windows(u64 ticks, bool keep) {
  deferred_ = false;
  if (keep) note_hand(ticks);
  extra_ = {};
  if (windows_.current() && keep)
    end_window(detector_.number(), ticks);
  else if (windows_.current())
    discard_window();
  window_base_ = windows_.next();
  plan_ = {Phase::wait, -1};
  paused_ = false;
}

// At the process's end.
void Session::end_last_window(u64 now) {
  bool no_step = detector_.void_at_end();
  if (no_step && step_.record) step_.record->flags |= kStepWithdrawn;
  WindowRecord* window = windows_.current();
  if (!window) return;
  i64 steps = detector_.number() + !no_step;
  bool scheduled = options_.schedule.given && windows_.number() != extra_.window;
  bool began_with_it = window->first_step == detector_.number() && window->begin_ticks == step_.ticks;
  if (deferred_)
    end_window(window->end_step, step_.ticks);
  else if (no_step && scheduled && began_with_it && !is_stated(step_.by))
    discard_window();
  else
    end_window(window->first_step >= 0 ? steps : -1, paused_ && step_.ended ? step_.end : now);
  deferred_ = false;
}

// ---------------------------------------------------------------- helpers of a program

void Session::follow(u64 now) {
  if (!family_.is_helper() || !live()) return;
  if (!family_.has_leader()) {
    if (!family_.is_time_to_look()) return;
    SpinGuard guard(lock_);
    if (!family_.find_leader()) return;
  }
  u32 epoch = family_.leader_epoch();
  bool filled = ring_.is_filled(g_writer.full_chunks());
  if (epoch == leader_seen_ && !filled) return;
  bool both_record = epoch != kNoEpoch && leader_seen_ != kNoEpoch;
  if (ring_.is_on() && both_record) return turn_ring();
  SpinGuard guard(lock_);
  if (!family_.is_helper() || epoch == leader_seen_) return;
  leader_seen_ = epoch;
  mirror(epoch != kNoEpoch, now);
}

u32 Session::make_up_for(u64 begin, u64 end) {
  SpinGuard guard(lock_);
  if (!family_.is_helper() || !live()) return kNoEpoch;
  bool is_open = windows_.current();
  if (!is_open) mirror(true, begin);
  u32 epoch = recording_epoch();
  if (WindowRecord* window = windows_.current(); window && window->begin_ticks > begin) {
    window->begin_ticks = begin;
    g_writer.touch_meta();
  }
  if (!is_open) mirror(false, end);
  return epoch;
}

// Windows of a recording have a number each, whoever opened them: it is not the leader's.
void Session::mirror(bool active, u64 now) {
  if (windows_.current()) end_window(-1, now);
  if (!active) {
    g_epoch.store(kNoEpoch);
    return;
  }
  if (!open_recording() || !windows_.mirror(now)) return;
  plan_ = {Phase::active, windows_.number()};
  u32 epoch = epoch_of(Phase::active, windows_.number());
  g_writer.header()->phase.store(u32(Phase::active));
  g_writer.header()->epoch.store(epoch);
  g_epoch.store(epoch, std::memory_order_release);
  if (ring_.is_on()) start_ring(ring_.first_epoch() ? ring_.first_epoch() : epoch);
}

void Session::promote(bool number_needed) {
  if (!family_.is_helper()) return;
  SpinGuard guard(lock_);
  if (!family_.is_helper() || !live() || (number_needed && detector_.number() < 0)) return;
  family_.become_program();
  signals_install(options_.signal);
  slow_steps_.set(options_.trigger.slow_step);
  listen();
  bool before_first = detector_.number() < 0;
  i64 number = before_first ? 0 : detector_.number();
  u64 ticks = before_first ? now_ticks() : step_.ticks;
  Plan plan = plan_for(number);
  WindowRecord* window = windows_.current();
  bool window_goes_on = window && plan.phase == Phase::active && plan.window == i64(leader_seen_ / 2);
  if (window_goes_on) {
    window_base_ = windows_.number() - plan.window;
    if (options_.schedule.given) window->first_step = number;
    if (ticks > window->begin_ticks && !before_first) window->begin_ticks = ticks;
    tell_collectors(&Collector::window_opened, window);
    tell_collectors(&Collector::phase_changed, plan.phase);
    helper_start();
    set_level(Level::all);
  } else {
    if (window) discard_window();
    window_base_ = windows_.next();
    plan_ = {Phase::wait, -1};
    apply_plan(plan_for(number), number, ticks);
  }
  if (before_first) return;
  record_step(number, ticks, step_.by);
  if (!detector_.tentative()) step_confirmed();
}

}  // namespace tprof
