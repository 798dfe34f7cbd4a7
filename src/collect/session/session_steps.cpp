// Session, continued: how the line of steps (step_line.h) becomes phases, windows and records.
//
// A tentative step starts recording at once where the schedule wants it, so that nothing of it is missed, but it stops
// nothing: that waits until it is confirmed. If it is withdrawn, recording goes back to what it was: a window that it
// opened stays open, but paused, for the next step that may be the first. In an evaluation only a window in whose midst
// it lies goes on, for at most as many batches as that window has steps.
#include "collect/cuda/call.h"
#include "collect/cuda/cupti.h"
#include "collect/cuda/gpu_log.h"
#include "collect/recorder/recorder.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"
#include "collect/session/signals.h"

namespace tprof {
namespace {

bool records(Phase phase) { return phase == Phase::warmup || phase == Phase::active; }

u32 epoch_of(Phase phase, i64 window) {
  if (!records(phase)) return kNoEpoch;
  return u32(window) * 2 + (phase == Phase::active ? 1 : 0);
}

bool is_stated(StepBy by) { return by == StepBy::api || by == StepBy::profiler_step; }

}  // namespace

// ---------------------------------------------------------------- phases

// Hearing autograd nodes is dear, and needless once all backward passes are known to come through Python.
Level Session::waiting_level() const {
  constexpr u32 kSure = 3;
  return announced_ < kSure || unannounced_ ? Level::steps : Level::marks;
}

void Session::set_level(Level level) {
  if (level == level_) return;
  level_ = level;
  if (frontend_.set_level) frontend_.set_level(level);
}

Plan Session::plan_for(i64 number) const {
  if (!armed_) return {Phase::wait, -1};
  Plan plan = plan_of(options_.schedule, number - first_number_);
  if (plan.window >= 0) plan.window += window_base_;
  return plan;
}

// What a step's begin asks for. It may not be one: what would end a window waits until it is confirmed, unless the program
// itself said that the step before ends here.
void Session::take_plan(const Plan& plan, i64 number, u64 ticks) {
  deferred_ = false;
  if (!paused_ && plan == plan_) return;
  bool ends_window = window_ && !paused_ && plan.window != window_number_;
  if (ends_window && !is_stated(step_by_)) {
    deferred_ = true;
    deferred_plan_ = plan;
    window_->end_ticks = ticks;
    window_->end_step = number;
    return;
  }
  apply_plan(plan, number, ticks);
}

void Session::apply_plan(const Plan& plan, i64 number, u64 ticks) {
  if (window_ && plan.window != window_number_) end_window(number, ticks);
  if (records(plan.phase)) {
    if (!open_recording()) return;
    if (!window_) open_window(plan, ticks);
    if (!window_) {  // the disk was full: said by the writer
      finished_ = true;
      take_phase(Phase::ended);
      return;
    }
    if (window_->begin_ticks == 0) begin_window(plan.phase, number, ticks);
  }
  plan_ = plan;
  take_phase(plan.phase);
  if (records(plan.phase)) helper_start();
}

// Everybody who follows the phase is told. What is over may begin once more if a training follows an inference.
void Session::take_phase(Phase phase) {
  paused_ = false;
  if (phase == Phase::ended && !finished_ && !detector_.settled()) phase = Phase::resting;
  resting_ = phase == Phase::resting;
  Phase outside = resting_ ? Phase::wait : phase;
  u32 epoch = epoch_of(phase, plan_.window);
  cupti_follow(outside);
  g_epoch.store(epoch, std::memory_order_release);
  if (FileHeader* h = g_writer.header()) {
    h->epoch.store(epoch);
    h->phase.store(u32(outside), std::memory_order_release);
    g_writer.touch_meta();
  }
  bool heard = phase != Phase::ended && !resting_;
  set_level(!heard ? Level::none : records(phase) ? Level::all : waiting_level());
  if (frontend_.phase_changed) frontend_.phase_changed(phase);
}

// Nothing is recorded until the next step; a window that is open stays so.
void Session::pause() {
  if (!records(plan_.phase) || paused_) return;
  take_phase(Phase::wait);
  paused_ = true;
}

void Session::backward_announced() {
  announced_++;
  if (!resting_) return;
  SpinGuard guard(lock_);
  if (!live() || !resting_) return;
  detector_.forget();
  take_phase(Phase::wait);
}

// ---------------------------------------------------------------- windows

void Session::open_window(const Plan& plan, u64 ticks) {
  u64 warmup = plan.phase == Phase::warmup ? ticks : 0;
  g_writer.add_clock(read_clocks());
  window_ = g_writer.add_window(u32(plan.window), WindowState::warmup, warmup, current_tid());
  window_number_ = plan.window;
  next_window_ = plan.window + 1;
  if (window_) gpu_log_open(window_);
  previous_step_ = step_ = nullptr;
}

// Its active part, unless it only warms up.
void Session::begin_window(Phase phase, i64 number, u64 ticks) {
  if (phase == Phase::warmup) {
    window_->warmup_ticks = ticks;
    return;
  }
  window_->begin_ticks = ticks;
  window_->first_step = options_.schedule.given ? number : -1;
  window_->state.store(u32(WindowState::active), std::memory_order_release);
  began_ = true;
}

void Session::end_window(i64 end_step, u64 ticks) {
  WindowRecord* window = window_;
  window_ = nullptr;
  window_number_ = -1;
  began_ = false;
  if (window->begin_ticks == 0) {  // ended while warming up
    window->state.store(u32(WindowState::discarded), std::memory_order_release);
    gpu_log_close(window);
    g_writer.touch_meta();
    return;
  }
  window->end_ticks = ticks;
  window->end_step = end_step;
  g_writer.add_clock(read_clocks());  // stamps convert the same way now and after the process's end
  close_window(window);
}

// The window's end is final: the helper thread seals it as soon as nobody writes into its chunks any more.
void Session::close_window(WindowRecord* window) {
  window->state.store(u32(WindowState::closing), std::memory_order_release);
  g_writer.touch_meta();
  for (auto& slot : closing_) {
    WindowRecord* empty = nullptr;
    if (slot.compare_exchange_strong(empty, window)) break;
  }
  helper_wake();
  cupti_wake();
}

// The window that is open, if any, is not wanted: its step was none, or has another number.
void Session::discard_window(u64 ticks) {
  window_->begin_ticks = 0;
  end_window(-1, ticks);
}

// The schedule begins anew. `keep`: a window that is open ends here, else it is discarded.
void Session::forget_windows(u64 ticks, bool keep) {
  deferred_ = false;
  if (window_ && keep)
    end_window(detector_.number(), ticks);
  else if (window_)
    discard_window(ticks);
  window_base_ = next_window_;
  plan_ = {Phase::wait, -1};
  paused_ = false;
}

// At the process's end. A step that was not confirmed is none.
void Session::end_last_window(u64 now) {
  if (!window_) return;
  i64 steps = detector_.number() + !detector_.tentative();
  if (deferred_)
    end_window(window_->end_step, step_ticks_);
  else if (began_ && detector_.tentative() && options_.schedule.given && !is_stated(step_by_))
    discard_window(now);
  else
    end_window(window_->first_step >= 0 ? steps : -1, paused_ && step_ended_ ? step_end_ : now);
  deferred_ = false;
}

// ---------------------------------------------------------------- steps

void Session::step_begins(i64 number, u64 ticks, StepBy by) {
  if (step_ && !step_ended_) step_->end_ticks = ticks;
  previous_step_ = step_;
  previous_ticks_ = step_ticks_;
  previous_ended_ = step_ended_;
  previous_end_ = step_end_;
  last_by_ = step_by_;
  step_ = nullptr;
  step_ticks_ = ticks;
  step_by_ = by;
  step_ended_ = began_ = false;
  if (role_ == Role::helper || !started_) return;
  if (window_ && window_->first_step == number)
    window_->begin_ticks = ticks;  // began with the process: setup is no step's
  take_plan(plan_for(number), number, ticks);
  record_step(number, ticks, by);
  if (window_ || (cupti_on() && gpu_log_waits())) helper_start();
  if (level_ == Level::steps) set_level(waiting_level());
}

void Session::record_step(i64 number, u64 ticks, StepBy by) {
  if (!g_writer.is_open() || recording_epoch() == kNoEpoch) return;
  step_ = g_writer.add_step(by, number, ticks, step_tid_ ? step_tid_ : current_tid());
  if (step_) step_->flags |= kStepTentative;
}

void Session::step_moves(u64 ticks) {
  step_ticks_ = ticks;
  if (step_) step_->begin_ticks = ticks;
  if (previous_step_ && !previous_ended_) previous_step_->end_ticks = ticks;
  if (window_ && window_->begin_ticks && window_->first_step == detector_.number()) window_->begin_ticks = ticks;
  if (deferred_) window_->end_ticks = ticks;
}

void Session::step_withdrawn(i64 number) {
  if (step_) step_->flags |= kStepWithdrawn;
  step_ = previous_step_;
  step_ticks_ = previous_ticks_;
  step_ended_ = previous_ended_;
  step_end_ = previous_end_;
  step_by_ = last_by_;
  previous_step_ = nullptr;
  if (step_ && !step_ended_) step_->end_ticks = 0;
  if (role_ == Role::helper || !started_) return;
  if (deferred_) {  // the window goes on
    deferred_ = false;
    window_->end_ticks = 0;
    window_->end_step = -1;
  }
  if (began_ && options_.schedule.given) {
    window_->begin_ticks = 0;
    window_->first_step = -1;
    window_->state.store(u32(WindowState::warmup), std::memory_order_release);
    plan_ = plan_for(number);
    if (records(plan_.phase) && !stretch_open_) take_phase(plan_.phase);
  }
  began_ = false;
  bool wanted = number < 0 || records(plan_for(number).phase);
  if (stretch_open_ ? !wanted_in_stretch() : !wanted) pause();
}

void Session::step_confirmed() {
  began_ = false;
  if (step_)
    step_->flags = (step_->flags & ~u32(kStepTentative)) | kStepHasWork | (detector_.guessed() ? u32(kStepGuessed) : 0);
  last_by_ = step_by_;
  if (!deferred_) return;
  deferred_ = false;
  StepRecord* step = step_;
  apply_plan(deferred_plan_, detector_.number(), step_ticks_);
  began_ = false;
  if (recording_epoch() == kNoEpoch && step) step->end_ticks = step_ticks_, step = nullptr;
  step_ = step;
}

void Session::count_restarts(RestartWhy why, i64 number, u64 ticks, bool anew) {
  if (g_writer.is_open()) {
    g_writer.add_restart(why, number, ticks);
    g_writer.touch_meta();
  }
  step_ = previous_step_ = nullptr;
  step_ended_ = false;
  if (!anew || !options_.schedule.given || role_ == Role::helper || !started_) return;
  // A window with a whole step of the inference is worth keeping; one that false steps opened is not.
  bool training = why == RestartWhy::training;
  bool keep = window_ && training && !began_ && window_->begin_ticks && window_->begin_ticks < ticks;
  bool other = window_ && !training && window_->begin_ticks && window_->first_step < number;
  if (other) return;
  forget_windows(ticks, keep);
  if (training) first_number_ = 0;
}

// ---------------------------------------------------------------- stretches

// Whether the open stretch is recorded: it lies in a window's midst, and has not gone on for too long. A batch is heard of
// when it is over, so that another one is under way by then; a call when it begins.
bool Session::wanted_in_stretch() const {
  if (!options_.schedule.given || !detector_.settled()) return true;
  bool in_midst = window_ && window_->begin_ticks && !began_ &&
                  (stretch_inside_ || plan_for(detector_.number() + 1).window == window_number_);
  return in_midst && stretch_parts_ + stretch_has_batches_ <= u32(options_.schedule.active);
}

void Session::stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) {
  stretch_open_ = true;
  stretch_inside_ = inside;
  stretch_parts_ = 0;
  stretch_has_batches_ = false;
  bool recorded = recording_epoch() != kNoEpoch || (g_writer.is_open() && !options_.schedule.given);
  stretch_ = recorded ? g_writer.add_stretch(kind, number, ticks, step_tid_ ? step_tid_ : current_tid()) : nullptr;
  bool settled = detector_.settled();
  if (stretch_) stretch_->flags = (inside ? u32(kStretchInside) : 0) | (settled ? 0 : u32(kStretchBefore));
  if (inside || !settled) return;
  step_ended_ = true;
  step_end_ = ticks;
  if (step_) step_->end_ticks = ticks;
  if (role_ == Role::helper || !started_) return;
  i64 next = detector_.number() + 1;
  Plan plan = plan_for(next);
  bool complete = window_ && window_->begin_ticks && plan.window != window_number_;
  if (complete) apply_plan(plan.phase == Phase::ended ? plan : Plan{Phase::wait, -1}, next, ticks);
  if (!wanted_in_stretch()) pause();
}

void Session::stretch_goes_on(u64 ticks, u32 batches, u32 calls) {
  stretch_has_batches_ = batches != 0;
  stretch_parts_ = batches ? batches : calls;
  bool left_out = paused_;
  if (stretch_) {
    stretch_->batches = batches;
    stretch_->calls = calls;
    if (detector_.settled() && !paused_) g_writer.add_stretch_part(ticks);
  }
  if (!wanted_in_stretch()) pause();
  left_out |= paused_ && !stretch_has_batches_;
  if (stretch_ && left_out) stretch_->left_out++;
}

void Session::stretch_ends(u64 ticks) {
  if (stretch_) stretch_->end_ticks = ticks;
  stretch_ = nullptr;
  stretch_open_ = false;
  if (paused_ && stretch_inside_ && window_) take_plan(plan_for(detector_.number()), detector_.number(), ticks);
}

void Session::stretch_withdrawn() {
  if (stretch_) stretch_->flags |= kStretchWithdrawn;
  bool inside = stretch_inside_;
  stretch_ends(step_ticks_);
  if (inside || !step_ended_) return;
  step_ended_ = false;
  if (step_) step_->end_ticks = 0;
}

}  // namespace tprof
