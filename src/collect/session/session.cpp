#include "collect/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "collect/cuda/call.h"
#include "collect/cuda/cupti.h"
#include "collect/cuda/gpu_log.h"
#include "collect/native/native.h"
#include "collect/nvtx/inject.h"
#include "collect/recorder/recorder.h"
#include "collect/session/bus_guard.h"
#include "collect/session/finisher.h"
#include "collect/session/helper.h"
#include "collect/session/signals.h"
#include "collect/steps/step_pattern.h"

namespace tprof {

constinit Session g_session;

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
  bus_guard_install();
  RecordingSpec spec{recording_path_,   host_, pid_,   parent_pid_, created_ns_, base_time_ns_,
                     options_.max_size, role_, speaks_};
  if (!g_writer.create(spec)) {
    char line[PATH_MAX + 200];
    snprintf(line, sizeof line,
             "%s: cannot be written: %s; set TPROF_LOGDIR to a directory with room that may be written",
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
  take_phase(Phase::ended);
}

// ---------------------------------------------------------------- what was recorded

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

// Tokens count from one thread, the one that trains. One that has ended hands over to the next that is heard. Before
// training is known those of other threads count too, such as those that serve one request after the other; but not once
// one calls modules as a training does, nor while the one that was heard first is in the midst of a call: then nobody can
// say what a step is. Backward passes may run on a thread of their own.
bool Session::of_step_thread(const ThreadBlock* block, Evidence evidence) {
  if (evidence == Evidence::forward && !forward_block_) {
    forward_block_ = block;
    if (!step_tid_sure_) lead(block);
  }
  if (!block || evidence == Evidence::backward) return true;
  bool updates = evidence == Evidence::update;
  bool ended =
      step_tid_ != 0 && (!step_block_->in_use.load(std::memory_order_relaxed) || step_block_->tid != step_tid_);
  if (ended) {
    detector_.forget();
    forward_block_ = nullptr;
  }
  if (step_tid_ == 0 || ended || (updates && !step_tid_sure_)) {
    lead(block);
    step_tid_sure_ = updates;
  }
  if (block->tid == step_tid_) return true;
  if (step_tid_sure_ || forward_block_ || detector_.settled()) return false;
  bool in_midst = step_block_->in_module.load(std::memory_order_relaxed);
  if (in_midst) detector_.guess();
  return !in_midst;
}

void Session::lead(const ThreadBlock* block) {
  step_tid_ = block->tid;
  step_block_ = block;
}

void Session::write_flush() {
  FileHeader* h = g_writer.header();
  if (!h) return;
  cupti_flush();
  u64 ticks = now_ticks();
  g_writer.add_clock(read_clocks());  // stamps before it convert the same way now and later
  g_writer.add_flush(++flushes_, ticks);
  h->unfinished.fetch_add(1, std::memory_order_release);
}

// ---------------------------------------------------------------- public API

int Session::api_start() {
  SpinGuard guard(lock_);
  if (!live() || !started_) return -1;
  start_by_hand();
  return 0;
}

void Session::start_by_hand() {
  forget_windows(now_ticks(), true);
  armed_ = true;
  first_number_ = detector_.number() < 0 ? 0 : detector_.number();
  u64 now = now_ticks();
  apply_plan(plan_for(first_number_), first_number_, now);
  if (detector_.number() >= 0) {
    record_step(detector_.number(), now, StepBy::api);
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
  apply_plan({Phase::wait, -1}, detector_.number() + 1, now);
  window_base_ = next_window_;
  armed_ = false;
}

int Session::api_flush() { return helper_request_flush() ? 0 : -1; }

int Session::api_step() {
  if (!live() || !started_) return -1;
  token(nullptr, Evidence::none, [](StepDetector& d) { d.api_step(now_ticks()); });
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
    end_last_window(now);
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
  g_writer.stop_if_gone();
  // If it stopped, a trace says what was dropped, also if that is all.
  bool empty = g_writer.data_chunks() == 0 && !g_writer.stopped();
  g_writer.close(empty ? kClosedEmpty : kClosed);
  if (empty)
    g_writer.remove();
  else if (role_ == Role::program)
    finish_program();
}

void Session::finish_program() {
  if (!g_writer.in_place() || !g_writer.has_header() || g_writer.header()->unfinished.load() == 0) return;
  bool done = finisher_wait(under_run_ ? 0 : options_.exit_wait);  // tprof run waits itself
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
    say("nothing was recorded: the program did not call cudaProfilerStart, for which TPROF_WINDOW=cudaProfilerApi "
        "waits");
  i64 last = detector_.number() - detector_.tentative();
  if (role_ != Role::program || !options_.schedule.given || last < 0) return;
  if (under_run_) {
    if (!open_recording()) return;
    if (StepRecord* step = g_writer.add_step(last_by_, last, step_ticks_, current_tid())) step->flags = kStepHasWork;
    g_writer.close();
  } else if (speaks_) {
    say("nothing was recorded: the program ended in step %lld, before the first step that TPROF_SCHEDULE records",
        static_cast<long long>(last));
  }
}

}  // namespace tprof
