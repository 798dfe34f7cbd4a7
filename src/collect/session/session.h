// The life of profiling in one process: options, role, schedule windows, and the recording they go to.
//
// Everything rare happens here under one lock: step tokens, phase changes, opening and closing windows. The hot
// path only reads g_epoch (recorder.h) and, in helpers, follows the leader.
//
// Roles. A program (the first process of a job that loads torch, or one with a RANK of its own) counts its own
// steps and gets traces. A helper (any other process below one) follows its leader's phase, read from the
// leader's recording, and leaves a recording only; it becomes a program when it trains on its own.
#pragma once
#include "base/options.h"
#include "collect/recorder/thread.h"
#include "collect/steps/schedule.h"
#include "collect/steps/steps.h"
#include "record/writer.h"

namespace tprof {

// Which events must reach us. marks: user ranges, enough where Python announces backward passes; steps: autograd nodes too.
enum class Level : u32 { none, marks, steps, all };

// What a token says about which thread makes the steps: the one that updates parameters; until that is known, the first
// that calls a module in training mode with gradients.
enum class Evidence { none, forward, backward, update };

// What the session needs from the framework it is attached to. Called under the session lock.
struct Frontend {
  void (*set_level)(Level level);
  void (*phase_changed)(Phase phase);  // may be nullptr
};

class Session final : private StepSink {
 public:
  // Reads the options, finds out who this process is. False: stay out (said in one line where it should be).
  // `environment` says whether variables for child processes could be set.
  // `fallback` is what makes steps where TPROF_STEP is auto.
  // A session that CUDA began is joined by torch when that comes: the second frontend takes over with its start().
  bool attach(const Frontend& frontend, StepMode fallback);
  // "K=V" lines that child processes must find in their environment; empty before attach().
  const char* exports() const { return exports_; }
  const Options& options() const { return options_; }
  bool attached() const { return attached_; }
  bool is_helper() const { return role_ == Role::helper; }
  bool speaks() const { return speaks_; }

  // A fact or a capability about this process; goes into the recording as soon as there is one.
  void note(const char* key, const char* value);
  void note_command();  // from /proc
  void capability(const char* name, bool on, const char* why);

  // Sets those variables in this process's environment. While nobody else reads it.
  void export_environment() const;

  // Everything is set up: take up the phase of step 0, or let the frontend that came second have the current one.
  void start();

  // --- step tokens. `use` is called with the detector under the lock; `block` is the caller's, nullptr for any thread.
  template <class Use>
  void token(const ThreadBlock* block, Evidence evidence, Use use) {
    SpinGuard guard(lock_);
    if (!live() || !of_step_thread(block, evidence)) return;
    use(detector_);
  }
  // Within `use`: no other thread will ever make steps.
  bool step_thread_is_sure() const { return step_tid_sure_; }
  // A backward pass that Python announced began; an autograd node ran outside of any. See collect/torch/backward.h.
  void backward_announced();
  void backward_unannounced() { unannounced_ = true; }
  bool wants_backward() const { return detector_.wants_backward(); }
  // Whether the program may turn out to train, or to train in another way than was thought.
  bool steps_are_settled() const { return detector_.settled(); }
  // A helper that trains or draws batches of its own is a program from then on.
  // `number_needed`: once it made a step.
  void promote(bool number_needed = true);

  // --- helpers: adopts the leader's phase if it changed. Cheap when it did not.
  void follow(u64 now);

  // --- public API
  int api_start();
  int api_stop();
  int api_flush();
  int api_step();
  // cudaProfilerStart (or Stop) was called. See profiler_range.h.
  void profiler_range(bool start);

  // --- for the helper thread and the exit path
  bool seal_closing();  // true: a window waits for what the GPU has still to deliver
  void write_flush();
  void finish();
  void fork_prepare();
  void fork_child();
  void child_ready();  // in the child, once the framework may be called again
  bool recording_wanted() const { return window_ != nullptr; }

 private:
  bool live() const { return attached_ && !finished_; }
  bool armed_from_start() const { return options_.autostart && !options_.window.profiler_api; }
  void step_begins(i64 number, u64 ticks, StepBy by) override;
  void step_moves(u64 ticks) override;
  void step_withdrawn(i64 number) override;
  void step_confirmed() override;
  void count_restarts(RestartWhy why, i64 number, u64 ticks, bool anew) override;
  void stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) override;
  void stretch_goes_on(u64 ticks, u32 batches, u32 calls) override;
  void stretch_ends(u64 ticks) override;
  void stretch_withdrawn() override;

  void lead(const ThreadBlock* block);
  bool of_step_thread(const ThreadBlock* block, Evidence evidence);
  bool wanted_in_stretch() const;
  Plan plan_for(i64 number) const;
  void take_plan(const Plan& plan, i64 number, u64 ticks);
  void apply_plan(const Plan& plan, i64 number, u64 ticks);
  void take_phase(Phase phase);
  void pause();
  bool open_recording();
  void open_window(const Plan& plan, u64 ticks);
  void begin_window(Phase phase, i64 number, u64 ticks);
  void end_window(i64 end_step, u64 ticks);
  void close_window(WindowRecord* window);
  void discard_window(u64 ticks);
  void forget_windows(u64 ticks, bool keep);
  void end_last_window(u64 now);
  void record_step(i64 number, u64 ticks, StepBy by);
  void set_level(Level level);
  void join(const Frontend& frontend, StepMode fallback);
  void change_frontend();
  Level waiting_level() const;
  void note_options();
  void give_up(const char* line);
  void set_role(Role role);
  bool find_family();
  void silence_children();
  bool find_logdir(OptionError& error);
  const FileHeader* leader();
  void mirror(bool active, u64 now);
  void start_by_hand();
  void stop_by_hand();
  void finish_program();
  void explain_nothing();

  // What every step token touches comes first, and close together.
  SpinLock lock_;
  Role role_ = Role::program;
  bool attached_ = false, started_ = false, finished_ = false, armed_ = false;
  bool step_tid_sure_ = false;  // it trains
  u32 step_tid_ = 0;
  const ThreadBlock* step_block_ = nullptr;     // of that thread
  const ThreadBlock* forward_block_ = nullptr;  // of the first thread with Evidence::forward
  std::atomic<Level> level_{Level::none};
  std::atomic<u32> announced_{0};
  std::atomic<bool> unannounced_{false};
  Plan plan_{Phase::wait, -1};
  i64 first_number_ = 0;    // step at which the schedule began (tprof_start)
  i64 window_base_ = 0;     // windows of earlier schedules
  i64 window_number_ = -1;  // of window_
  i64 next_window_ = 0;     // behind the last one that was opened
  WindowRecord* window_ = nullptr;
  bool paused_ = false;    // plan_ is not carried out until the next step
  bool resting_ = false;   // over, unless a training follows
  bool began_ = false;     // the tentative step began the active part of window_
  bool deferred_ = false;  // deferred_plan_ waits for the tentative step to be confirmed
  Plan deferred_plan_{};
  // The current step, and the one before, should that one go on. `ended`: by a stretch, at `end`.
  StepRecord* step_ = nullptr;
  StepRecord* previous_step_ = nullptr;
  u64 step_ticks_ = 0, previous_ticks_ = 0, step_end_ = 0, previous_end_ = 0;
  bool step_ended_ = false, previous_ended_ = false;
  StepBy step_by_ = StepBy::none, last_by_ = StepBy::none;
  // The stretch that is open.
  StretchRecord* stretch_ = nullptr;
  bool stretch_open_ = false, stretch_inside_ = false, stretch_has_batches_ = false;
  u32 stretch_parts_ = 0;
  StepDetector detector_;

  Frontend frontend_{};
  Frontend joining_{};  // takes over with start()
  Options options_;
  u32 pid_ = 0;
  bool speaks_ = false;       // the first process of its job: says things, once
  bool under_run_ = false;    // tprof run started the job and has the last word
  i64 profiler_windows_ = 0;  // those that cudaProfilerStart opened and that are over
  std::atomic<WindowRecord*> closing_[64] = {};
  u32 flushes_ = 0;

  // family
  const FileHeader* leader_ = nullptr;
  u64 leader_tried_ = 0;
  u32 leader_seen_ = 0xffffffff;
  char leader_path_[PATH_MAX] = {};
  char recording_path_[PATH_MAX] = {};
  char host_[64] = {};
  u64 created_ns_ = 0, base_time_ns_ = 0;
  u32 parent_pid_ = 0;
  char exports_[3 * PATH_MAX] = {};
  char notes_[32 << 10] = {};  // facts until there is a recording: kind, key NUL value NUL ...
  u32 notes_used_ = 0;
};

extern Session g_session;

// Remembers the directory the process started in; a relative TPROF_LOGDIR is relative to it.
void remember_start_directory();

}  // namespace tprof
