// The life of profiling in one process: options, role, schedule, windows, and the recording they go to.
//
// Everything rare happens here under one lock: step tokens, phase changes, opening and closing windows. The hot path
// only reads g_epoch (recorder.h) and, in helpers, follows the leader. The session is made of: who this process is
// (Family), what is known of it (Notes), its windows (Windows), which thread makes the steps (StepThread), what a step
// is (StepDetector). It decides what they do when, and tells the collectors (collector.h).
#pragma once
#include "base/options.h"
#include "collect/recorder/thread.h"
#include "collect/session/family.h"
#include "collect/session/notes.h"
#include "collect/session/ring.h"
#include "collect/session/session_lock.h"
#include "collect/session/windows.h"
#include "collect/steps/schedule.h"
#include "collect/steps/slow_steps.h"
#include "collect/steps/step_thread.h"
#include "collect/steps/steps.h"
#include "record/writer.h"

namespace tprof {

// Which events the framework must report. marks: user ranges, enough where Python announces backward passes; steps: the
// nodes of autograd as well.
enum class Level : u32 { none, marks, steps, all };

// What the session needs from the framework it is attached to. Called under the session's lock, the last one after it
// was given up: to pass the phase on to Python may wait for a thread that waits for this lock.
struct Frontend {
  void (*set_level)(Level level);
  void (*phase_changed)(Phase phase);  // may be nullptr, as may the next one
  void (*pass_phase_on)();
};

// A trace is asked for before its time.
struct Asked {
  TriggerWhy why;
  i64 steps = 0;  // 0: the usual number
  u64 detail[2] = {};
};

// For how long the ways out of the process wait, at most, for what may be unable to go on: exit() and the end of main;
// _exit() and the like, which watchdogs and handlers of signals call.
constexpr u64 kPatient_ns = 10'000'000'000, kAtOnce_ns = 1'000'000'000;

class Session final : private StepSink {
 public:
  // Reads the options, finds out who this process is. False: stay out (said in one line where it should be).
  // `fallback` is what makes steps where TPROF_STEP is auto.
  // A session that CUDA started is joined by torch when that comes: the second frontend takes over with its start().
  bool attach(const Frontend& frontend, StepMode fallback);
  const char* exports() const { return family_.exports(); }  // see Family
  void export_environment() const { family_.export_environment(); }
  const Options& options() const { return options_; }
  bool attached() const { return attached_; }
  bool is_helper() const { return family_.is_helper(); }
  bool speaks() const { return speaks_; }

  // What is known of this process; goes into the recording as soon as there is one.
  void note(const char* key, const char* value) { notes_.info(key, value); }
  void note_command();  // without its secrets
  // The program has this rank in its job from now on: it is a program of its own, or one that is not to be recorded.
  void joins_job(i32 rank);
  void capability(const char* name, bool on, const char* why) { notes_.capability(name, on, why); }

  // Everything is set up: take up the phase of step 0, or let the frontend that came second have the current one.
  void start();

  // --- step tokens. `use` is called with the detector under the lock; `block` is the caller's, nullptr for any thread.
  template <class Use>
  void token(const ThreadBlock* block, Evidence evidence, Use use) {
    if (!live()) return;
    SpinGuard guard(lock_);
    if (!live() || !step_thread_.counts(block, evidence, detector_)) return;
    use(detector_);
  }
  // Within `use`: no other thread will ever make steps.
  bool step_thread_is_sure() const { return step_thread_.is_sure(); }
  // Python announced a backward pass; a node of autograd ran outside of any. See collect/torch/backward.h.
  void backward_announced();
  void backward_unannounced() { unannounced_ = true; }
  bool wants_backward() const { return detector_.wants_backward(); }
  bool wants_optimizer() const { return detector_.wants_optimizer(); }
  // False: the program may turn out to train, or to train in another way than was thought.
  bool steps_are_settled() const { return detector_.settled(); }
  // A helper that trains or draws batches of its own is a program from then on.
  // `number_needed`: once it made a step.
  void promote(bool number_needed = true);

  // --- helpers: adopts the leader's phase if it changed. Cheap when it did not.
  void follow(u64 now);
  // FileHeader::last_epoch of the leader; 0 as long as it has no recording.
  u32 leader_last_epoch() const { return family_.has_leader() ? family_.leader_last_epoch() : 0; }
  // Something that went on from `begin` to `end` spans a window of the leader that this helper did not see begin. The
  // window that is open here is extended back to `begin`; if none is open, one from `begin` to `end` is added. Returns
  // its epoch, kNoEpoch if it could not be added.
  u32 make_up_for(u64 begin, u64 end);

  // --- public API
  int api_start();
  int api_stop();
  int api_flush();
  int api_step();
  // The program called cudaProfilerStart (or Stop). A start inside a window and a stop outside of one change nothing,
  // as in CUDA itself.
  void profiler_range(bool start);

  // --- for the helper thread and the exit path
  bool seal_windows() { return windows_.seal(); }  // true: a window still has to wait
  // --- triggers (session_triggers.cpp)
  // From any thread, not under the session's lock. The helper thread does the rest.
  void ask(const Asked& asked);
  // Async-signal-safe. False: no window is open and none may come.
  bool ask_by_signal();
  // For the helper thread: what was asked for by a signal, in a file, by other threads.
  void triggered(const Asked& asked);
  void look_for_requests();
  // Flight mode: ends the newest span when it is large enough, drops the oldest ones, gives back what is not needed.
  void turn_ring();
  // The process ends. `limit_ns`: kPatient_ns or kAtOnce_ns.
  void finish(u64 limit_ns);
  void fork_prepare();
  // After a fork, once Python has counted the threads: a program that waits for what it has forked has its helper.
  void resume_helper();
  void fork_child();
  void child_ready();  // in the child, once the framework may be called again
  bool recording_wanted() const { return windows_.current() != nullptr || listening_; }

 private:
  // A step whose place in the line of steps may still change, or the one before it, should that one go on.
  struct OpenStep {
    StepRecord* record = nullptr;  // nullptr: not recorded
    u64 ticks = 0;                 // its start
    StepBy by = StepBy::none;
    bool ended = false;  // by a stretch, at `end`
    u64 end = 0;
    bool evaluates = false;  // there is an evaluation inside
    // As in StepRecord.
    u64 work = 0, loop_end = 0;
    u32 updates = 0;
  };
  // The window beside the schedule that a trigger asked for; none: end <= first.
  struct Extra {
    i64 window = -1, first = 0, end = 0;  // steps
  };
  // The step at which all ranks of the job take what one of them was asked for.
  struct Appointment {
    i64 step = -1;  // -1: none
    u64 since_ns = 0;
    Asked asked{};
  };
  // The evaluation or inference that is under way beside the steps.
  struct OpenStretch {
    StretchRecord* record = nullptr;
    bool open = false, inside = false, has_batches = false;
    u32 parts = 0;
    bool ends_step = false;  // the step before it ends where it begins
  };

  bool live() const { return attached_ && !finished_; }
  bool leads() const { return !family_.is_helper() && started_; }
  bool armed_from_start() const { return options_.autostart && !options_.window.profiler_api; }

  // What the line of steps reports.
  void step_begins(i64 number, u64 ticks, StepBy by) override;
  void step_moves(u64 ticks) override;
  void step_withdrawn(i64 number) override;
  void step_confirmed() override;
  void step_worked(u64 ticks, bool update) override;
  void loop_ended(u64 ticks) override;
  void count_restarts(RestartWhy why, i64 number, u64 ticks, bool anew) override;
  void stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) override;
  void stretch_goes_on(u64 ticks, u32 batches, u32 calls) override;
  void stretch_ends(u64 ticks) override;
  void stretch_withdrawn() override;

  // Phases (session_phases.cpp).
  Plan plan_for(i64 number) const;
  void take_plan(const Plan& plan, i64 number, u64 ticks);
  void apply_plan(const Plan& plan, i64 number, u64 ticks);
  void take_phase(Phase phase);
  void pause();
  void end_window(i64 end_step, u64 ticks);
  void discard_window();
  void forget_windows(u64 ticks, bool keep);
  void end_last_window(u64 now);
  void set_level(Level level);
  void tell_frontend(Phase phase);
  Level waiting_level() const;
  void start_by_hand();
  void stop_by_hand();
  void mirror(bool active, u64 now);

  // Flight mode (session_flight.cpp).
  bool flies() const;
  void start_ring(u32 first_epoch);
  void change_epoch(u32 leader_epoch, u64 ns);
  void drop_spans(u64 ns);
  void cut_ring(const Asked& asked, u64 ticks);

  // Triggers (session_triggers.cpp).
  void listen();
  void judge_step();
  bool may_trigger(TriggerWhy why);
  void note_trigger(const Asked& asked, u64 ticks);
  void note_hand(u64 ticks);
  bool plan_extra(i64 number);
  bool is_in_job() const { return family_.place().rank >= 0 && family_.place().world_size > 1; }
  void make_appointment(const Asked& asked);
  void look_for_ranks(u64 ns);
  void meet(i64 number, u64 ticks);
  void carry_out(const Asked& asked, u64 ticks);
  void write_flush();

  // Steps (session_steps.cpp).
  void show_step(i64 number, u64 ticks);
  void show_sign(u64 ticks);
  bool wanted_in_stretch() const;
  void record_step(i64 number, u64 ticks, StepBy by);
  void record_ends();

  // Set-up and end (session.cpp).
  void join(const Frontend& frontend, StepMode fallback);
  void change_frontend();
  void note_options();
  void note_place();
  bool open_recording();
  void give_up(const char* line);
  void close_down();
  void leave_behind(u64 limit_ns);
  void wait_for_traces(double seconds);
  void explain_nothing();

  // What every step token reads comes first, and close together.
  SessionLock lock_;
  bool attached_ = false, started_ = false;
  std::atomic<bool> finished_{false};
  bool armed_ = false;  // the schedule runs
  StepThread step_thread_;
  std::atomic<Level> level_{Level::none};
  std::atomic<u32> announced_{0};  // backward passes
  std::atomic<bool> unannounced_{false};

  // The phase.
  Plan plan_{Phase::wait, -1};
  i64 first_number_ = 0;   // step at which the schedule started (tprof_start)
  i64 window_base_ = 0;    // windows of earlier schedules
  bool paused_ = false;    // plan_ is not carried out until the next step
  bool resting_ = false;   // over, unless a training follows
  bool began_ = false;     // the tentative step started the active part of the window
  bool deferred_ = false;  // deferred_plan_ waits for the tentative step to be confirmed
  Plan deferred_plan_{};
  i64 profiler_windows_ = 0;  // those that cudaProfilerStart opened and that are over

  OpenStep step_, previous_step_;
  i64 first_step_ = -1;  // since counting (re)started, and its start; -1: none yet
  u64 first_step_ticks_ = 0;
  OpenStretch stretch_;
  StepDetector detector_;
  Windows windows_;
  Ring ring_;
  std::atomic<u32> cleared_epoch_{0};  // what the ring dropped before this epoch was given back

  // Triggers.
  std::atomic<bool> helper_paused_{false};  // for a fork
  std::atomic<bool> listening_{false};      // the helper thread stays also where no window is open
  std::atomic<bool> signal_asked_{false};   // for a window beside the schedule
  std::atomic<bool> has_asked_{false};      // asked_ waits for the helper thread
  bool window_asked_ = false;               // the next step is to open a window for asked_window_
  Asked asked_{}, asked_window_{};
  Extra extra_;
  Appointment appointment_;
  u64 rank_request_ns_ = 0;   // RankRequest::at_ns of the last one that was seen
  bool knows_ranks_ = false;  // a request that was there before this process is none
  i64 rate_number_ = 0, steps_a_second_ = 0;
  u64 rate_ns_ = 0;
  SlowSteps slow_steps_;
  u64 last_trigger_ns_ = 0, looked_ns_ = 0;  // CLOCK_MONOTONIC
  bool said_refused_ = false;                // since the last trigger
  bool said_no_request_ = false;

  Frontend frontend_{};
  Frontend joining_{};  // takes over with start()
  Options options_;
  bool speaks_ = false;     // the first process of its job: says things, once
  bool under_run_ = false;  // tprof run started the job and has the last word
  u32 flushes_ = 0;
  // The end of the process.
  std::atomic<bool> ending_{false};
  u64 end_ticks_ = 0;
  bool traces_wait_ = false;      // the finisher has windows to write
  u32 leader_seen_ = 0xffffffff;  // the leader's epoch that a helper has taken up
  Family family_;
  Notes notes_;
};

extern Session g_session;

}  // namespace tprof
