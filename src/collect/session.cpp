#include "collect/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "collect/call.h"
#include "collect/cuda/cupti.h"
#include "collect/cuda/gpu_log.h"
#include "collect/finisher.h"
#include "collect/helper.h"
#include "collect/recorder.h"
#include "collect/native.h"
#include "collect/nvtx/inject.h"
#include "collect/signals.h"
#include "collect/step_pattern.h"

namespace tprof {

constinit Session g_session;

namespace {

bool records(Phase phase) { return phase == Phase::warmup || phase == Phase::active; }

u32 epoch_of(const Plan& plan) {
  if (!records(plan.phase)) return kNoEpoch;
  return u32(plan.window) * 2 + (plan.phase == Phase::active ? 1 : 0);
}

}  // namespace

// ---------------------------------------------------------------- setting up

bool Session::attach(const Frontend& frontend, StepMode fallback) {
  if (attached_ || finished_) {
    if (attached_) join(frontend, fallback);
    return attached_;
  }
  init_clock();
  frontend_ = joining_ = frontend;
  pid_ = u32(getpid());
  speaks_ = find_family();
  under_run_ = getenv("TPROF_UNDER_RUN") != nullptr;
  OptionError error;
  if (!parse_options(options_, error) || !find_logdir(error)) {
    if (speaks_) say("%s; this program runs on unprofiled", error.text);
    silence_children();
    finished_ = true;
    return false;
  }
  if (options_.disable) {
    finished_ = true;
    return false;
  }
  if (options_.step.mode == StepMode::automatic) options_.step.mode = fallback;
  set_step_pattern(options_.step);
  detector_.reset(options_.step, this, now_ticks());
  note_options();
  calls_take_stacks(options_);
  attached_ = true;
  return true;
}

// Torch comes to a session that a call into CUDA began.
void Session::join(const Frontend& frontend, StepMode fallback) {
  SpinGuard guard(lock_);
  joining_ = frontend;
  if (options_.step.mode != StepMode::automatic || fallback == StepMode::automatic || detector_.number() >= 0) return;
  options_.step.mode = fallback;
  detector_.reset(options_.step, this, now_ticks());
}

void Session::change_frontend() {
  if (joining_.set_level == frontend_.set_level) return;
  frontend_ = joining_;
  frontend_.set_level(level_);
  if (frontend_.phase_changed) frontend_.phase_changed(plan_.phase);
}

void Session::start() {
  SpinGuard guard(lock_);
  if (!live()) return;
  if (started_) return change_frontend();
  started_ = true;
  finisher_prepare();
  armed_ = armed_from_start();
  nvtx_note(speaks_);
  native_prepare(options_);
  if (role_ == Role::helper) {
    set_level(Level::all);
    return;
  }
  signals_install(options_.signal);
  apply_plan(plan_for(0), 0, now_ticks());
}

void Session::note_options() {
  for (int i = 0; i < kOptionRowCount; i++) {
    const OptionRow& row = kOptionRows[i];
    char key[64], room[256];
    snprintf(key, sizeof key, "option.%s", row.field);
    note(key, option_value(options_, i, room));
  }
}

void Session::note_command() {
  char command[4096];
  int n = read_small_file("/proc/self/cmdline", command, sizeof command);
  for (int i = 0; i < n - 1; i++)
    if (!command[i]) command[i] = ' ';
  if (n > 0) note("command", command);
}

void Session::note(const char* key, const char* value) {
  if (g_writer.is_open()) g_writer.add_info(key, value);
  size_t bytes = strlen(key) + strlen(value) + 3;
  if (notes_used_ + bytes > sizeof notes_) return;
  notes_used_ += u32(snprintf(notes_ + notes_used_, sizeof notes_ - notes_used_, "i%s%c%s", key, 0, value)) + 1;
}

void Session::capability(const char* name, bool on, const char* why) {
  if (g_writer.is_open()) g_writer.add_capability(name, on, why);
  size_t bytes = strlen(name) + strlen(why) + 3;
  if (notes_used_ + bytes > sizeof notes_) return;
  notes_used_ +=
      u32(snprintf(notes_ + notes_used_, sizeof notes_ - notes_used_, "%c%s%c%s", on ? '1' : '0', name, 0, why)) + 1;
}

bool Session::open_recording() {
  if (g_writer.is_open()) return true;
  u64 begin = now_ticks();
  RecordingSpec spec{recording_path_, host_, pid_, parent_pid_, created_ns_, base_time_ns_, options_.max_size, role_,
                     speaks_};
  if (!g_writer.create(spec)) {
    char line[PATH_MAX + 200];
    snprintf(line, sizeof line, "%s: cannot be written: %s; set TPROF_LOGDIR to a directory with room that may be written",
             recording_path_, strerror(errno));
    give_up(line);
    return false;
  }
  g_generation.fetch_add(1, std::memory_order_release);
  for (const char *at = notes_, *end = notes_ + notes_used_; at < end;) {
    const char* second = at + strlen(at) + 1;
    if (*at == 'i')
      g_writer.add_info(at + 1, second);
    else
      g_writer.add_capability(at + 1, *at == '1', second);
    at = second + strlen(second) + 1;
  }
  g_writer.header()->own_ticks.fetch_add(now_ticks() - begin);
  return true;
}

void Session::give_up(const char* line) {
  if (speaks_) say("%s; this program runs on unprofiled", line);
  finished_ = true;
  g_epoch.store(kNoEpoch);
  cupti_follow(Phase::ended);
  set_level(Level::none);
}

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

// ---------------------------------------------------------------- phases and windows

Plan Session::plan_for(i64 number) const {
  if (!armed_) return {Phase::wait, -1};
  Plan plan = plan_of(options_.schedule, number - first_number_);
  if (plan.window >= 0) plan.window += window_base_;
  return plan;
}

// What a new step edge asks for. A tentative edge starts recording at once but never stops it: the operators of a
// second optimizer may still belong to the window.
void Session::take_plan(const Plan& plan, i64 number, u64 ticks, bool tentative) {
  deferred_ = false;
  if (plan == plan_) return;
  if (tentative && records(plan_.phase) && plan.phase != Phase::active) {
    deferred_ = true;
    deferred_plan_ = plan;
    if (window_ && plan.window != plan_.window) {
      edge_ends_ = window_;
      window_->end_ticks = ticks;
      window_->end_step = number;
    }
    return;
  }
  apply_plan(plan, number, ticks);
}

void Session::apply_plan(const Plan& plan, i64 number, u64 ticks) {
  if (window_ && plan.window != plan_.window) end_window(number, ticks);
  if (records(plan.phase)) {
    if (!open_recording()) return;
    if (!window_) open_window(plan, ticks);
    if (!window_) {  // the disk was full: said by the writer
      finished_ = true;
      g_epoch.store(kNoEpoch);
      cupti_follow(Phase::ended);
      set_level(Level::none);
      return;
    }
    if (plan.phase == Phase::active && window_->begin_ticks == 0) {
      window_->begin_ticks = ticks;
      window_->first_step = options_.schedule.given ? number : -1;
      window_->state.store(u32(WindowState::active), std::memory_order_release);
      edge_begins_ = window_;
    }
  }
  plan_ = plan;
  cupti_follow(plan.phase);
  g_epoch.store(epoch_of(plan), std::memory_order_release);
  if (FileHeader* h = g_writer.header()) {
    h->epoch.store(epoch_of(plan));
    h->phase.store(u32(plan.phase), std::memory_order_release);
    g_writer.touch_meta();
  }
  set_level(plan.phase == Phase::ended ? Level::none : records(plan.phase) ? Level::all : waiting_level());
  if (frontend_.phase_changed) frontend_.phase_changed(plan.phase);
  if (plan.phase == Phase::ended) signals_restore();
  if (records(plan.phase)) helper_start();
}

void Session::open_window(const Plan& plan, u64 ticks) {
  u64 warmup = plan.phase == Phase::warmup ? ticks : 0;
  g_writer.add_clock(read_clocks());
  window_ = g_writer.add_window(u32(plan.window), WindowState::warmup, warmup, current_tid());
  if (window_) gpu_log_open(window_);
  previous_step_ = step_ = nullptr;
}

void Session::end_window(i64 end_step, u64 ticks) {
  WindowRecord* window = window_;
  window_ = nullptr;
  if (window->begin_ticks == 0) {  // ended while warming up
    window->state.store(u32(WindowState::discarded), std::memory_order_release);
    gpu_log_close(window);
    g_writer.touch_meta();
    return;
  }
  window->end_ticks = ticks;
  window->end_step = end_step;
  g_writer.add_clock(read_clocks());  // stamps convert the same way now and after the process's end
  edge_ends_ = window;
  if (!detector_.tentative()) close_window(window);
}

// The window's end is final: the helper thread seals it as soon as nobody writes into its chunks any more.
void Session::close_window(WindowRecord* window) {
  if (edge_ends_ == window) edge_ends_ = nullptr;
  window->state.store(u32(WindowState::closing), std::memory_order_release);
  g_writer.touch_meta();
  for (auto& slot : closing_) {
    WindowRecord* empty = nullptr;
    if (slot.compare_exchange_strong(empty, window)) break;
  }
  helper_wake();
  cupti_wake();
}

bool Session::seal_closing() {
  bool waits = false;
  for (auto& slot : closing_) {
    WindowRecord* window = slot.load(std::memory_order_acquire);
    if (!window) continue;
    if (cupti_on() && !gpu_log_delivered(window)) {
      waits = true;
      continue;
    }
    if (!quiesce(recording_epoch(), 1'000'000'000)) {
      waits = true;
      continue;
    }
    gpu_log_close(window);
    window->state.store(u32(WindowState::sealed), std::memory_order_release);
    g_writer.touch_meta();
    g_writer.header()->unfinished.fetch_add(1, std::memory_order_release);  // last: it sets the finisher off
    slot.store(nullptr);
  }
  return waits;
}

void Session::write_flush() {
  FileHeader* h = g_writer.header();
  if (!h) return;
  cupti_flush();
  g_writer.add_clock(read_clocks());
  g_writer.add_flush(++flushes_, now_ticks());
  h->unfinished.fetch_add(1, std::memory_order_release);
}

// ---------------------------------------------------------------- steps

// Tokens count from one thread: the one that updates parameters, until then the first that was heard.
bool Session::of_step_thread(u32 tid, bool anchors) {
  if (tid == 0) return true;
  if (step_tid_ == 0) step_tid_ = tid;
  if (tid != step_tid_ && anchors && !step_tid_sure_) step_tid_ = tid;
  if (tid == step_tid_ && anchors) step_tid_sure_ = true;
  return tid == step_tid_;
}

void Session::step_begins(i64 number, u64 ticks, StepBy by, bool tentative) {
  step_ticks_ = ticks;
  step_by_ = by;
  step_worked_ = false;
  if (role_ == Role::helper || !started_) return;
  if (step_) step_->end_ticks = ticks;
  previous_step_ = step_;
  step_ = nullptr;
  edge_begins_ = edge_ends_ = nullptr;
  if (window_ && window_->first_step == number) {  // recording began with the process: setup is no step's
    window_->begin_ticks = ticks;
    edge_begins_ = window_;
  }
  take_plan(plan_for(number), number, ticks, tentative);
  record_step(number, ticks, by, tentative);
  if (window_ || (cupti_on() && gpu_log_waits())) helper_start();
  if (level_ == Level::steps) set_level(waiting_level());
}

void Session::record_step(i64 number, u64 ticks, StepBy by, bool tentative) {
  if (!g_writer.is_open() || recording_epoch() == kNoEpoch) return;
  step_ = g_writer.add_step(by, number, ticks, step_tid_ ? step_tid_ : current_tid());
  if (step_ && tentative) step_->flags |= kStepTentative;
}

void Session::step_moves(u64 ticks) {
  step_ticks_ = ticks;
  if (step_) step_->begin_ticks = ticks;
  if (previous_step_) previous_step_->end_ticks = ticks;
  if (edge_begins_) edge_begins_->begin_ticks = ticks;
  if (edge_ends_) edge_ends_->end_ticks = ticks;
}

void Session::step_confirmed() {
  if (step_) step_->flags &= ~u32(kStepTentative);
  WindowRecord* ends = edge_ends_;
  edge_begins_ = nullptr;
  if (deferred_) {
    deferred_ = false;
    if (window_ && ends == window_) window_ = nullptr;
    if (ends) close_window(ends);
    StepRecord* step = step_;
    apply_plan(deferred_plan_, detector_.number(), step_ticks_);
    if (recording_epoch() == kNoEpoch && step) step->end_ticks = step_ticks_, step_ = nullptr;
  } else if (ends) {
    close_window(ends);
  }
}

void Session::step_works() {
  step_worked_ = true;
  if (step_) step_->flags |= kStepHasWork;
}

// ---------------------------------------------------------------- public API

int Session::api_start() {
  SpinGuard guard(lock_);
  if (!live() || !started_) return -1;
  start_by_hand();
  return 0;
}

void Session::start_by_hand() {
  if (window_) end_window(detector_.number(), now_ticks());
  if (armed_) window_base_ += 1 + (plan_.window >= window_base_ ? plan_.window - window_base_ : 0);
  armed_ = true;
  plan_ = {Phase::wait, -1};
  first_number_ = detector_.number() < 0 ? 0 : detector_.number();
  u64 now = now_ticks();
  apply_plan(plan_for(first_number_), first_number_, now);
  if (detector_.number() >= 0) {
    record_step(detector_.number(), now, StepBy::api, false);
    if (step_) step_->flags |= kStepHasWork;
  }
}

int Session::api_stop() {
  SpinGuard guard(lock_);
  if (!live() || !started_ || !armed_) return -1;
  stop_by_hand();
  return 0;
}

void Session::stop_by_hand() {
  u64 now = now_ticks();
  if (step_) step_->end_ticks = now;
  step_ = nullptr;
  i64 window = plan_.window;
  apply_plan({Phase::wait, -1}, detector_.number() + 1, now);
  if (window >= 0) window_base_ = window + 1;
  armed_ = false;
}

int Session::api_flush() { return helper_request_flush() ? 0 : -1; }

int Session::api_step() {
  if (!live() || !started_) return -1;
  token(current_tid(), true, [](StepDetector& d) { d.api_step(now_ticks()); });
  promote();
  return 0;
}

// ---------------------------------------------------------------- the end

void Session::finish() {
  if (!attached_ || finished_ || pid_ != u32(getpid())) return;
  // A signal handler of the program's that exits while this very thread is in our code: its locks may be held. The
  // finisher does the rest.
  if (inside_tprof()) return;
  {
    SpinGuard guard(lock_);
    if (finished_) return;
    u64 now = now_ticks();
    frontend_ = {};  // Python may be gone already, and torch need not be touched any more
    if (deferred_ || edge_ends_) step_confirmed();
    if (window_) {
      bool by_steps = window_->first_step >= 0;
      end_window(by_steps ? detector_.number() + 1 : -1, now);
    }
    if (edge_ends_) close_window(edge_ends_);
    g_epoch.store(kNoEpoch);
    cupti_follow(Phase::ended);
    finished_ = true;
  }
  if (!g_writer.is_open()) {
    explain_nothing();
    return;
  }
  cupti_exiting();
  helper_stop();
  seal_closing();
  cupti_finish();
  g_writer.header()->phase.store(u32(Phase::ended));
  g_writer.close();
  if (g_writer.data_chunks() == 0) g_writer.remove();
  else if (role_ == Role::program) finish_program();
}

void Session::finish_program() {
  if (g_writer.header()->unfinished.load() == 0) return;
  bool done = finisher_wait(options_.exit_wait);
  if (under_run_ || !speaks_) return;
  if (!done)
    say("not all traces are written yet; to write them: tprof convert %s", g_writer.path());
  else if (!options_.logdir)
    say("wrote traces to %.*s", int(strrchr(g_writer.path(), '/') - g_writer.path()), g_writer.path());
}

// Steps went by and none of them was to be recorded: worth a word. tprof run says it itself; it learns the step
// from a recording that holds nothing else.
void Session::explain_nothing() {
  if (options_.window.profiler_api && speaks_ && !under_run_)
    say("nothing was recorded: the program did not call cudaProfilerStart, for which TPROF_WINDOW=cudaProfilerApi waits");
  if (role_ != Role::program || !options_.schedule.given || detector_.number() < 0) return;
  if (under_run_) {
    if (!open_recording()) return;
    g_writer.add_step(step_by_, detector_.number(), step_ticks_, step_tid_);
    g_writer.close();
  } else if (speaks_) {
    say("nothing was recorded: the program ended in step %lld, before the first step that TPROF_SCHEDULE records",
        static_cast<long long>(detector_.number()));
  }
}

}  // namespace tprof
