// Session, continued: how the line of steps (step_line.h) becomes records and drives the schedule.
//
// During an evaluation or inference, only a window that is in the middle of its active part goes on, for at most as
// many batches as that window has steps.
#include "collect/recorder/recorder.h"
#include "collect/session/collector.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

bool delivery_is_awaited() {
  for (const Collector* const* collector = kCollectors; *collector; collector++)
    if ((*collector)->awaits_delivery && (*collector)->awaits_delivery()) return true;
  return false;
}

}  // namespace

// ---------------------------------------------------------------- steps

void Session::step_begins(i64 number, u64 ticks, StepBy by) {
  if (step_.record && !step_.ended) step_.record->end_ticks = ticks;
  previous_step_ = step_;
  step_ = {.ticks = ticks, .by = by, .end = step_.end};
  began_ = false;
  if (!leads()) return;
  meet(number, ticks);
  ring_.step_begins(ticks);
  WindowRecord* window = windows_.current();
  if (window && window->first_step == number)
    window->begin_ticks = ticks;  // it was opened when the process started: leave out the set-up
  bool extra = plan_extra(number);
  take_plan(plan_for(number), number, ticks);
  if (extra) note_trigger(asked_window_, ticks);
  record_step(number, ticks, by);
  show_step(number, ticks);
  if (windows_.current() || listening_ || delivery_is_awaited()) helper_start();
  if (level_ == Level::steps) set_level(waiting_level());
}

void Session::record_step(i64 number, u64 ticks, StepBy by) {
  if (!g_writer.is_open() || recording_epoch() == kNoEpoch) return;
  u32 tid = step_thread_.tid();
  step_.record = g_writer.add_step(by, number, ticks, tid ? tid : current_tid(), previous_step_.record);
  if (step_.record) step_.record->flags |= kStepTentative;
  record_ends();
}

// For those who watch the program, see StepNow.
void Session::show_step(i64 number, u64 ticks) {
  if (number >= 0 && first_step_ < 0) {
    first_step_ = number;
    first_step_ticks_ = ticks;
  }
  FileHeader* h = g_writer.header();
  if (!h) return;
  StepNow& now = h->step;
  now.begin_ticks.store(0, std::memory_order_relaxed);
  now.first_number.store(first_step_, std::memory_order_release);
  now.first_ticks.store(first_step_ticks_, std::memory_order_relaxed);
  now.number.store(number, std::memory_order_relaxed);
  now.last_ticks.store(ticks, std::memory_order_relaxed);
  now.begin_ticks.store(number < 0 ? 0 : ticks, std::memory_order_release);
}

// An evaluation goes on.
void Session::show_sign(u64 ticks) {
  if (FileHeader* h = g_writer.header()) h->step.last_ticks.store(ticks, std::memory_order_relaxed);
}

void Session::step_moves(u64 ticks) {
  step_.ticks = ticks;
  if (leads()) show_step(detector_.number(), ticks);
  if (step_.record) step_.record->begin_ticks = ticks;
  if (previous_step_.record && !previous_step_.ended) previous_step_.record->end_ticks = ticks;
  if (windows_.is_active() && windows_.current()->first_step == detector_.number())
    windows_.current()->begin_ticks = ticks;
  if (deferred_) windows_.current()->end_ticks = ticks;
}

void Session::step_withdrawn(i64 number) {
  if (step_.record) step_.record->flags |= kStepWithdrawn;
  step_ = previous_step_;
  previous_step_.record = nullptr;
  if (step_.record && !step_.ended) step_.record->end_ticks = 0;
  if (!leads()) return;
  show_step(number, step_.ticks);
  WindowRecord* window = windows_.current();
  if (deferred_) {  // the window goes on
    deferred_ = false;
    window->end_ticks = 0;
    window->end_step = -1;
  }
  if (began_ && options_.schedule.given) {
    window->begin_ticks = 0;
    window->first_step = -1;
    window->state.store(u32(WindowState::warmup), std::memory_order_release);
    plan_ = plan_for(number);
    if (records(plan_.phase) && !stretch_.open) take_phase(plan_.phase);
  }
  began_ = false;
  bool wanted = number < 0 || records(plan_for(number).phase);
  if (stretch_.open ? !wanted_in_stretch() : !wanted) pause();
}

void Session::step_confirmed() {
  began_ = false;
  judge_step();
  StepRecord* step = step_.record;
  if (step) {
    u32 flags = step->flags & ~u32(kStepTentative);
    step->flags = flags | kStepHasWork | (detector_.guessed() ? u32(kStepGuessed) : 0);
  }
  if (!deferred_) return;
  deferred_ = false;
  apply_plan(deferred_plan_, detector_.number(), step_.ticks);
  began_ = false;
  if (recording_epoch() == kNoEpoch && step) {
    step->end_ticks = step_.ticks;
    step = nullptr;
  }
  step_.record = step;
}

void Session::step_worked(u64 ticks, bool update) {
  step_.work = ticks;
  step_.updates += update;
  record_ends();
}

void Session::loop_ended(u64 ticks) {
  step_.loop_end = ticks;
  record_ends();
}

void Session::record_ends() {
  if (!step_.record) return;
  step_.record->work_ticks = step_.work;
  step_.record->loop_end_ticks = step_.loop_end;
  step_.record->updates = step_.updates;
}

void Session::count_restarts(RestartWhy why, i64 number, u64 ticks, bool anew) {
  if (g_writer.is_open()) {
    g_writer.add_restart(why, number, ticks);
    g_writer.header()->ring_first_step.store(number, std::memory_order_relaxed);
    g_writer.touch_meta();
  }
  step_.record = previous_step_.record = nullptr;
  step_.ended = false;
  slow_steps_.forget();
  first_step_ = -1;
  if (!anew || !options_.schedule.given || !leads()) return;
  // A window with a whole step of the inference is worth keeping; one that false steps opened is not.
  bool training = why == RestartWhy::training;
  WindowRecord* window = windows_.is_active() ? windows_.current() : nullptr;
  bool keep = window && training && !began_ && window->begin_ticks < ticks;
  bool other = window && !training && window->first_step < number;
  if (other) return;
  forget_windows(ticks, keep);
  if (training) first_number_ = 0;
}

// ---------------------------------------------------------------- evaluations and inference

// Whether the open stretch is recorded: it lies in the middle of a window, and has not gone on for too long. A batch is
// reported when it is over, and another one is under way by then; a call is reported when it starts.
bool Session::wanted_in_stretch() const {
  if (!options_.schedule.given || !detector_.settled()) return true;
  bool inside_window = windows_.is_active() && !began_ &&
                       (stretch_.inside || plan_for(detector_.number() + 1).window == windows_.number());
  return inside_window && stretch_.parts + stretch_.has_batches <= u32(options_.schedule.active);
}

void Session::stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) {
  stretch_ = {.open = true, .inside = inside};
  show_sign(ticks);
  step_.evaluates |= inside;
  bool recorded = recording_epoch() != kNoEpoch || (g_writer.is_open() && !options_.schedule.given);
  u32 tid = step_thread_.tid();
  if (recorded) stretch_.record = g_writer.add_stretch(kind, number, ticks, tid ? tid : current_tid());
  bool settled = detector_.settled();
  if (stretch_.record)
    stretch_.record->flags = (inside ? u32(kStretchInside) : 0) | (settled ? 0 : u32(kStretchBefore));
  if (inside || !settled) return;
  if (!step_.ended) {
    stretch_.ends_step = step_.ended = true;
    step_.end = ticks;
    if (step_.record) step_.record->end_ticks = ticks;
  }
  if (!leads()) return;
  i64 next = detector_.number() + 1;
  Plan plan = plan_for(next);
  bool complete = windows_.is_active() && plan.window != windows_.number();
  if (complete) apply_plan(plan.phase == Phase::ended ? plan : Plan{Phase::wait, -1}, next, ticks);
  if (!wanted_in_stretch()) pause();
}

void Session::stretch_goes_on(u64 ticks, u32 batches, u32 calls) {
  show_sign(ticks);
  stretch_.has_batches = batches != 0;
  stretch_.parts = batches ? batches : calls;
  bool left_out = paused_;
  if (stretch_.record) {
    stretch_.record->batches = batches;
    stretch_.record->calls = calls;
    if (detector_.settled() && !paused_) g_writer.add_stretch_part(ticks);
  }
  if (!wanted_in_stretch()) pause();
  left_out |= paused_ && !stretch_.has_batches;
  if (stretch_.record && left_out) stretch_.record->left_out++;
}

void Session::stretch_ends(u64 ticks) {
  if (stretch_.record) stretch_.record->end_ticks = ticks;
  stretch_.record = nullptr;
  stretch_.open = false;
  bool resume = paused_ && stretch_.inside && windows_.current();
  if (resume) take_plan(plan_for(detector_.number()), detector_.number(), ticks);
}

void Session::stretch_withdrawn() {
  if (stretch_.record) stretch_.record->flags |= kStretchWithdrawn;
  stretch_ends(step_.ticks);
  if (!stretch_.ends_step || !step_.ended) return;
  step_.ended = false;
  if (step_.record) step_.record->end_ticks = 0;
}

}  // namespace tprof
