#include "collect/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "base/log.h"
#include "base/secrets.h"
#include "base/uncancelled.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/stack_tree.h"
#include "collect/session/apart.h"
#include "collect/session/bus_guard.h"
#include "collect/session/collector.h"
#include "collect/session/finisher.h"
#include "collect/session/helper.h"
#include "collect/session/signals.h"
#include "collect/steps/step_pattern.h"

namespace tprof {

constinit Session g_session;

namespace {

// For how long a fork waits for the helper thread; no longer than once, if that is stuck.
constexpr u64 kForkWaits_ns = 1'000'000'000;
constexpr u64 kForEver_ns = ~u64(0) / 2;

}  // namespace

// ---------------------------------------------------------------- setting up

bool Session::attach(const Frontend& frontend, StepMode fallback) {
  if (attached_ || finished_) {
    if (attached_) join(frontend, fallback);
    return attached_;
  }
  init_clock();
  frontend_ = joining_ = frontend;
  speaks_ = family_.find();
  under_run_ = getenv("TPROF_UNDER_RUN") != nullptr;
  OptionError error;
  if (!parse_options(options_, error) || !family_.find_logdir(options_, error)) {
    if (speaks_) say("%s; this program runs on unprofiled", error.text);
    family_.silence_children();
    finished_ = true;
    return false;
  }
  bool stays_out = family_.place().rank >= 0 && !options_.ranks.has(family_.place().rank);
  if (options_.disable || stays_out) {
    finished_ = true;
    return false;
  }
  if (options_.step.mode == StepMode::automatic) options_.step.mode = fallback;
  set_step_pattern(options_.step);
  ring_.set(options_.mode, options_.max_size);
  detector_.reset(options_.step, this, now_ticks());
  note("logdir", family_.logdir());
  note_options();
  note_place();
  attached_ = true;
  return true;
}

// Torch comes to a session that a call into CUDA started.
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
  tell_frontend(plan_.phase);
}

void Session::start() {
  SpinGuard guard(lock_);
  if (!live()) return;
  if (started_) return change_frontend();
  started_ = true;
  finisher_prepare();
  armed_ = armed_from_start();
  tell_collectors(&Collector::session_starts, options_, speaks_);
  if (family_.is_helper()) {
    set_level(Level::all);
    return;
  }
  signals_install(options_.signal);
  slow_steps_.set(options_.trigger.slow_step);
  listen();
  apply_plan(plan_for(0), 0, now_ticks());
}

void Session::note_options() {
  for (int i = 0; i < kOptionRowCount; i++) {
    const OptionRow& row = kOptionRows[i];
    char key[64], value[256];
    snprintf(key, sizeof key, "option.%s", row.field);
    note(key, option_value(options_, i, value));
  }
}

void Session::note_place() {
  for (const LauncherVariables& launcher : kLaunchers)
    for (const char* name : {launcher.rank, launcher.world_size, launcher.local_rank, launcher.local_world_size}) {
      const char* value = *name ? getenv(name) : nullptr;
      if (!value || !*value) continue;
      char key[64];
      snprintf(key, sizeof key, "env.%s", name);
      note(key, value);
    }
  char name_space[64] = {};  // in which the process has the id that its recording holds
  if (readlink("/proc/self/ns/pid", name_space, sizeof name_space - 1) > 0) note("pid_namespace", name_space);
}

void Session::joins_job(i32 rank) {
  if (options_.ranks.has(rank)) return promote(false);
  {
    SpinGuard guard(lock_);
    if (!live()) return;
    if (windows_.current()) discard_window();
    finished_ = true;
    take_phase(Phase::ended);
  }
  if (!g_writer.is_open()) return;
  if (!helper_stop(kForkWaits_ns)) return;
  g_writer.close(kClosedEmpty);
  g_writer.remove();
}

void Session::note_command() {
  char command[4096];
  int n = read_own_command(command, sizeof command);
  for (int i = 0; i < n - 1; i++)
    if (!command[i]) command[i] = ' ';
  if (n > 0) note("command", command);
}

bool Session::open_recording() {
  if (g_writer.is_open()) return true;
  u64 begin = now_ticks();
  bus_guard_install();
  RecordingSpec spec = family_.spec(options_.max_size, speaks_);
  spec.flight = options_.mode.flight;
  if (!g_writer.create(spec)) {
    char line[PATH_MAX + 200];
    snprintf(line, sizeof line,
             "%s: cannot be written: %s; set TPROF_LOGDIR to a directory with room that may be written", spec.path,
             strerror(errno));
    give_up(line);
    return false;
  }
  g_generation.fetch_add(1, std::memory_order_release);
  notes_.write();
  g_writer.header()->own_ticks.fetch_add(now_ticks() - begin);
  return true;
}

void Session::give_up(const char* line) {
  if (speaks_) say("%s; this program runs on unprofiled", line);
  finished_ = true;
  take_phase(Phase::ended);
}

// ---------------------------------------------------------------- public API

int Session::api_start() {
  SpinGuard guard(lock_);
  if (!live() || !started_) return -1;
  start_by_hand();
  return 0;
}

int Session::api_stop() {
  SpinGuard guard(lock_);
  if (!live() || !started_ || !armed_) return -1;
  stop_by_hand();
  return 0;
}

int Session::api_flush() { return helper_request_flush() ? 0 : -1; }

int Session::api_step() {
  if (!live() || !started_) return -1;
  token(nullptr, Evidence::none, [](StepDetector& d) { d.api_step(now_ticks()); });
  promote();
  return 0;
}

void Session::profiler_range(bool start) {
  if (!live() || !started_ || !options_.window.profiler_api) return;
  if (start) promote(false);
  SpinGuard guard(lock_);
  if (!live() || family_.is_helper()) return;
  i64 limit = options_.window.limit;
  if (start && !armed_ && (limit == 0 || profiler_windows_ < limit)) {
    start_by_hand();
  } else if (!start && armed_) {
    stop_by_hand();
    bool over = ++profiler_windows_ == limit && !listening_;
    if (over) apply_plan({Phase::ended, -1}, -1, now_ticks());
  }
}

// ---------------------------------------------------------------- forks

void Session::child_ready() {
  SpinGuard guard(lock_);
  if (live() && family_.is_helper()) set_level(Level::all);
}

void Session::fork_prepare() {
  // A signal handler that interrupted us forks: the helper may wait for what this thread holds, so it is not joined.
  if (inside_tprof()) return;
  // A thread of ours would make Python warn about forking with threads. It also does so just after the fork, so that
  // the helper starts again a little later only.
  helper_stop(helper_is_stuck() ? 0 : kForkWaits_ns);
  helper_paused_ = recording_wanted();
}

void Session::resume_helper() {
  if (helper_paused_.load(std::memory_order_relaxed) && helper_paused_.exchange(false) && recording_wanted())
    helper_start();
}

void Session::fork_child() {
  if (!attached_) return;
  helper_forget();
  finisher_forget();
  signals_forget();
  bus_guard_forget();
  tell_collectors(&Collector::forget);
  reset_threads_in_child();
  reset_recorder_in_child();
  reset_stacks_in_child();
  lock_.reset();
  family_.become_child();
  g_writer.forget();
  speaks_ = false;  // what there is to say, the parent says
  leader_seen_ = kNoEpoch;
  plan_ = {Phase::wait, -1};
  windows_.forget();
  ring_.forget();
  cleared_epoch_ = 0;
  extra_ = {};
  appointment_ = {};
  knows_ranks_ = false;
  ending_ = false;
  listening_ = signal_asked_ = has_asked_ = window_asked_ = helper_paused_ = false;
  slow_steps_.forget();
  step_ = previous_step_ = {};
  first_step_ = -1;
  stretch_ = {};
  paused_ = resting_ = began_ = deferred_ = false;
  step_thread_.forget();
  first_number_ = window_base_ = 0;
  armed_ = armed_from_start();
  profiler_windows_ = 0;
  detector_.reset(options_.step, this, now_ticks());
}

// ---------------------------------------------------------------- the end

void Session::finish(u64 limit_ns) {
  if (!attached_ || finished_ || family_.pid() != u32(getpid())) return;
  // A signal handler of the program's that exits while this very thread is in our code: its locks may be held. The
  // finisher does the rest.
  if (inside_tprof() || ending_.exchange(true)) return;
  Uncancelled uncancelled;
  end_ticks_ = now_ticks();
  u64 began = clock_ns(CLOCK_MONOTONIC);
  if (!run_apart([] { g_session.close_down(); }, limit_ns)) return leave_behind(limit_ns);
  double left = (double(limit_ns) - double(clock_ns(CLOCK_MONOTONIC) - began)) / 1e9;
  if (traces_wait_) wait_for_traces(limit_ns == kPatient_ns ? options_.exit_wait : std::min(options_.exit_wait, left));
}

// On a thread of its own, which may be left behind at any place.
void Session::close_down() {
  {
    SpinGuard guard(lock_);
    if (finished_) return;
    frontend_ = {};  // Python may be gone already, and torch need not be touched any more
    end_last_window(end_ticks_);
    detector_.program_ends();  // an evaluation may be longer by a batch; the window is decided on already
    g_epoch.store(kNoEpoch);
    tell_collectors(&Collector::phase_changed, Phase::ended);
    finished_ = true;
    listening_ = false;
    g_chunk_needed.store(nullptr);
  }
  if (!g_writer.is_open()) {
    explain_nothing();
    return;
  }
  tell_collectors(&Collector::exiting);
  if (!helper_stop(kForEver_ns)) return;
  windows_.seal();
  tell_collectors(&Collector::finish);
  g_writer.header()->phase.store(u32(Phase::ended));
  g_writer.stop_if_gone();
  // If it stopped, a trace says what was dropped, also if that is all.
  bool empty = g_writer.data_chunks() == 0 && !g_writer.stopped();
  g_writer.close(empty ? kClosedEmpty : kClosed);
  if (empty) return g_writer.remove();
  if (family_.is_helper() || !g_writer.in_place() || !g_writer.has_header()) return;
  traces_wait_ = g_writer.header()->unfinished.load() != 0;
  if (traces_wait_) finisher_start();
}

// What this thread still does on its way out meets none of our locks. The finisher converts what the recording holds.
void Session::leave_behind(u64 limit_ns) {
  finished_ = true;
  g_epoch.store(kNoEpoch);
  t_self.block = nullptr;
  t_self.dead = 1;
  if (speaks_ && !under_run_ && g_writer.is_open())
    say("the recording was not completed within %llu s, as if the disk did not answer; if its trace is missing: tprof "
        "convert %s",
        static_cast<unsigned long long>(limit_ns / 1'000'000'000), g_writer.path());
}

void Session::wait_for_traces(double seconds) {
  bool done = finisher_wait(under_run_ ? 0 : seconds);  // tprof run waits itself
  if (under_run_ || !speaks_) return;
  if (!done)
    say("not all traces are written yet; to write them: tprof convert %s", g_writer.path());
  else if (!options_.logdir)
    say("wrote traces to %s", family_.logdir());
}

// Steps went by and none of them was to be recorded: worth a word. tprof run says it itself; it learns the step
// from a recording that holds nothing else.
void Session::explain_nothing() {
  if (options_.window.profiler_api && speaks_ && !under_run_)
    say("nothing was recorded: the program did not call cudaProfilerStart, for which TPROF_WINDOW=cudaProfilerApi "
        "waits");
  bool no_step = detector_.void_at_end();
  i64 last = detector_.number() - no_step;
  if (family_.is_helper() || !options_.schedule.given || last < 0) return;
  if (under_run_) {
    if (!open_recording()) return;
    StepBy by = no_step ? previous_step_.by : step_.by;
    StepRecord* step = g_writer.add_step(by, last, step_.ticks, current_tid(), nullptr);
    if (step) step->flags = kStepHasWork;
    g_writer.close();
  } else if (speaks_) {
    say("nothing was recorded: the program ended in step %lld, before the first step that TPROF_SCHEDULE records",
        static_cast<long long>(last));
  }
}

}  // namespace tprof
