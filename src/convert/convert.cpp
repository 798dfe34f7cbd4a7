#include "convert/convert.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/child.h"
#include "base/error.h"
#include "base/options.h"
#include "base/printable.h"
#include "convert/machine.h"
#include "kineto/names.h"
#include "kineto/write/amend.h"
#include "kineto/write/writer.h"
#include "model/reclaim.h"
#include "model/settled.h"
#include "model/spans.h"

namespace tprof {
namespace {

// One trace to be written.
struct Job {
  SpanRequest request;
  u64 name_ns = 0;       // in the file name
  i64 step_number = -1;  // for {step}; -1: one past the last step of the span
  bool last_of_window = false;
  i64 flush = -1;             // its number, -1: not a flush
  bool early = false;         // over before the program began to train: a trace of it may not know
  bool only_to_mark = false;  // its trace is written and the events may be gone
  bool even_if_empty = false;
};

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool exists(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

bool info_flag(const Meta& meta, const char* key, bool otherwise) {
  auto it = meta.info.find(key);
  return it == meta.info.end() || it->second.empty() ? otherwise : it->second != "0";
}

std::string info_text(const Meta& meta, const char* key) {
  auto it = meta.info.find(key);
  return it == meta.info.end() ? "" : it->second;
}

// Runs the user's command; its failure is said and does not stop anything.
void run_hook(std::string command, const std::string& path, i64 step) {
  replace_all(command, "{step}", std::to_string(step));
  replace_all(command, "{}", shell_quote(path));
  pid_t pid;
  int failed = start_child({"/bin/sh", "-c", command}, {}, pid);
  int status = failed ? 0 : wait_for_child(pid);
  if (status < 0 || (!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  std::string why = failed                ? strerror(failed)
                    : WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit status " + std::to_string(WEXITSTATUS(status));
  print(stderr, "tprof: on_trace_ready failed (" + why + "): " + command + "\n");
}

// Which parts are written if not all are: those that hold steps come before those that are evaluations alone.
std::vector<bool> chosen_parts(const std::vector<SpanCut>& cuts, size_t most) {
  std::vector<bool> chosen(cuts.size());
  size_t count = 0;
  for (bool with_steps : {true, false})
    for (size_t i = 0; i < cuts.size(); i++) {
      if ((cuts[i].first_step >= 0) != with_steps || count == most) continue;
      chosen[i] = true;
      count++;
    }
  return chosen;
}

class Converter {
 public:
  Converter(const std::string& path, const ConvertOptions& options, ConvertState& state)
      : path_(path), options_(options), state_(state), recording_(Recording::open(path, options.begin)) {
    // Asked before anything is read: what is written after the question is not missed.
    alive_ = recording_->writer_alive() && !recording_->header().closed.load();
    meta_ = recording_->read_meta();
    meta_damage_ = recording_->damage();
    clock_ = std::make_unique<ClockMap>(clock_of(*recording_, meta_));
  }

  ConvertResult run() {
    result_.complete = !alive_;
    plan();
    write_all();
    state_.training_told = meta_.training_ticks != 0;
    for (const Job& job : jobs_) {
      if (job.last_of_window) state_.windows.insert(static_cast<u32>(job.request.window));
      if (job.flush >= 0) state_.flushes.insert(static_cast<u32>(job.flush));
    }
    result_.traces.clear();
    for (WrittenTrace& trace : written_)
      if (!trace.path.empty()) result_.traces.push_back(std::move(trace));
    result_.damaged = damaged_ || recording_->damage().any();
    result_.nothing_recorded = !alive_ && options_.first_step < 0 && result_.traces.empty();
    return std::move(result_);
  }

 private:
  void plan();
  bool is_leaders(const WindowInfo& window) const;
  void plan_marks(const WindowInfo& window);
  void plan_flushes();
  void plan_window(const WindowInfo& window);
  void plan_parts(const WindowInfo& window);
  void plan_last_word();
  void plan_steps();
  void add_job(SpanRequest request, u64 name_ticks, i64 name_offset_ns, i64 step_number, bool last_of_window);
  SpanRequest limited(SpanRequest request);
  void write_all();
  i64 write_one(size_t index);
  void hand_over(size_t index, i64 step);
  bool is_written(const Job& job, const std::string& directory, i64 step, WrittenTrace& trace) const;
  std::string file_name(const Job& job, i64 step) const;
  bool drops_are_told() const;
  std::vector<u64> tell_drops(Model& model) const;
  // A crashed window's end, for cutting.
  u64 end_of(const WindowInfo& window) {
    return window.end_ticks ? window.end_ticks : last_ticks_of(*recording_, meta_) + 1;
  }

  std::string path_;
  const ConvertOptions& options_;
  ConvertState& state_;
  std::unique_ptr<Recording> recording_;
  bool alive_ = false, damaged_ = false;
  Meta meta_;
  Damage meta_damage_;
  std::unique_ptr<ClockMap> clock_;
  std::vector<Job> jobs_;
  std::vector<WrittenTrace> written_;     // by job
  std::vector<std::optional<i64>> done_;  // by job: what write_one() said
  size_t handed_ = 0;                     // jobs whose trace the user's command has seen
  std::mutex mutex_;                      // of state_, result_ and hooks, once there are threads
  ConvertResult result_;
};

void Converter::plan() {
  if (options_.first_step >= 0) {
    plan_steps();
    return;
  }
  plan_flushes();
  size_t planned = 0;
  for (const WindowInfo& w : meta_.windows) {
    if (is_leaders(w)) continue;
    if (!w.is_recorded()) {
      if (alive_ && w.state == WindowState::warmup) result_.complete = false;
      continue;
    }
    if (w.state != WindowState::sealed && (alive_ || options_.only_sealed)) {
      result_.complete = false;
      continue;
    }
    if (state_.windows.count(w.number)) {
      plan_marks(w);
      continue;
    }
    if (2 * u64(w.number) + 1 < recording_->header().given_back.load()) {  // half of it would look whole
      result_.note =
          "windows that were written while the program ran are not in the recording any more; their "
          "traces stand";
      plan_marks(w);
      continue;
    }
    if (options_.max_windows && planned++ == options_.max_windows) {
      result_.more = true;
      break;
    }
    if (w.first_step == -1)
      plan_parts(w);
    else
      plan_window(w);
  }
  if (result_.more) result_.complete = false;
  plan_last_word();
}

// What a program recorded while it was still a helper and followed its leader's windows: with a schedule it has its own.
bool Converter::is_leaders(const WindowInfo& window) const {
  bool program = recording_->header().role == static_cast<u32>(Role::program);
  bool scheduled = !info_text(meta_, "option.schedule").empty() || !info_text(meta_, "option.steps").empty();
  return program && scheduled && window.first_step == -1;
}

// Of a window of inference that is written, after which the program began to train: its traces are told. Whoever comes by
// next does it: the finisher with the next window, and at the latest when the program has ended, which passes here too.
// Waking the finisher for this alone would win nothing, since nobody waits for these traces any more.
void Converter::plan_marks(const WindowInfo& window) {
  if (state_.training_told || !is_before_training(window, meta_)) return;
  size_t first = jobs_.size();
  window.first_step == -1 ? plan_parts(window) : plan_window(window);
  for (size_t i = first; i < jobs_.size(); i++) {
    jobs_[i].only_to_mark = true;
    jobs_[i].last_of_window = false;
  }
}

void Converter::plan_flushes() {
  for (u32 i = 0; i < meta_.flushes.size(); i++) {
    u64 ticks = meta_.flushes[i];
    bool written = state_.flushes.count(i);
    if (written && (state_.training_told || ticks > meta_.training_ticks)) continue;
    for (const WindowInfo& w : meta_.windows) {
      if (!w.is_recorded() || ticks <= w.begin_ticks || (w.end_ticks && ticks > w.end_ticks)) continue;
      SpanRequest request = request_of(w, meta_);
      request.end_ticks = ticks;
      request.kind = "flush";
      add_job(written ? request : limited(request), ticks, 0, -1, false);
      jobs_.back().flush = i;
      jobs_.back().only_to_mark = written;
      break;
    }
  }
}

void Converter::plan_window(const WindowInfo& window) {
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

// Everything from start to exit, in parts that a viewer can hold.
void Converter::plan_parts(const WindowInfo& window) {
  SpanRequest whole = request_of(window, meta_);
  bool died = whole.end_ticks == 0;
  whole.end_ticks = end_of(window);
  std::vector<SpanCut> cuts = cut_spans(*recording_, meta_, whole, options_.max_events_per_span);
  std::vector<bool> chosen = chosen_parts(cuts, static_cast<size_t>(options_.max_spans));
  Rest rest;
  for (size_t i = 0; i < cuts.size(); i++) {
    if (!chosen[i]) {
      rest.events += cuts[i].events;
      if (cuts[i].first_step < 0) continue;
      if (rest.first_step < 0) rest.first_step = cuts[i].first_step;
      rest.end_step = cuts[i].end_step;
      continue;
    }
    SpanRequest request = whole;
    request.begin_ticks = cuts[i].begin_ticks;
    // The last part of a process that died has no end: what is open there is unfinished, not cut.
    bool last = i + 1 == cuts.size();
    request.end_ticks = last && died ? 0 : cuts[i].end_ticks;
    request.kind = cuts.size() > 1 ? "part" : "window";
    if (i) request.warmup_ticks = 0;
    add_job(request, request.begin_ticks, 0, -1, false);
  }
  if (cuts.empty()) {
    state_.windows.insert(window.number);
    return;
  }
  jobs_.back().last_of_window = true;
  if (!rest.events) return;
  result_.complete = false;
  bool any_step = std::any_of(cuts.begin(), cuts.end(), [](const SpanCut& cut) { return cut.first_step >= 0; });
  if (any_step && rest.first_step < 0) rest.first_step = -2;
  result_.rest = rest;
  result_.note = rest_text(rest, path_);
}

// A program that had no room for what it recorded has a trace that says what was dropped, be it empty: that of its last
// window.
void Converter::plan_last_word() {
  const FileHeader& h = recording_->header();
  if (alive_ || h.stopped.load() == 0 || h.role.load() != static_cast<u32>(Role::program) || drops_are_told()) return;
  for (size_t i = meta_.windows.size(); i-- > 0 && jobs_.empty();) {
    const WindowInfo& w = meta_.windows[i];
    SpanRequest request = request_of(w, meta_);
    if (w.is_recorded()) add_job(request, request.begin_ticks, 0, -1, false);
  }
  if (!jobs_.empty()) jobs_.back().even_if_empty = true;
}

// Exactly the steps that were asked for, of whatever windows hold them. A recording in which no step was
// found has nothing to choose by: all of it.
void Converter::plan_steps() {
  result_.complete = false;
  std::vector<StepInfo> steps = settled_steps(meta_);
  u64 begin = 0, end = 0, last = 0;
  bool found = steps.empty();
  for (const StepInfo& s : steps) {
    bool inside = s.number >= options_.first_step && (options_.end_step < 0 || s.number < options_.end_step);
    if (inside && !found) begin = s.begin_ticks;
    if (inside) last = s.begin_ticks;
    if (!inside && found && end == 0) end = s.begin_ticks;
    found = found || inside;
  }
  // Not with the evaluation that follows the last of them.
  for (const StretchInfo& s : settled_stretches(meta_))
    if (last && s.begin_ticks > last && (!end || s.begin_ticks < end) && !(s.flags & kStretchInside))
      end = s.begin_ticks;
  for (const WindowInfo& w : meta_.windows) {
    if (!found || !w.is_recorded()) continue;
    if (w.state != WindowState::sealed && alive_) {
      result_.note = "the program still records; convert again when it has ended";
      continue;
    }
    SpanRequest whole = request_of(w, meta_);
    u64 window_end = end_of(w);
    whole.begin_ticks = std::max(begin, w.begin_ticks);
    whole.end_ticks = end ? std::min(end, window_end) : window_end;
    whole.kind = "steps";
    whole.warmup_ticks = 0;
    if (!steps.empty()) {
      whole.first_step = options_.first_step;
      whole.end_step = options_.end_step;
    }
    if (whole.begin_ticks >= whole.end_ticks) continue;
    for (const SpanCut& cut : cut_spans(*recording_, meta_, whole, options_.max_events_per_span)) {
      SpanRequest request = whole;
      request.begin_ticks = cut.begin_ticks;
      bool died = cut.end_ticks == window_end && w.end_ticks == 0;
      request.end_ticks = died ? 0 : cut.end_ticks;
      // A few ns apart from the window's own trace, which may begin at the same step.
      i64 count = options_.end_step < 0 ? 999 : options_.end_step - options_.first_step;
      add_job(request, request.begin_ticks, count, -1, false);
    }
  }
  if (jobs_.empty() && result_.note.empty())
    result_.note = "steps " + std::to_string(options_.first_step) + ":" + std::to_string(options_.end_step) +
                   " are not in the recording (see tprof info)";
}

void Converter::add_job(SpanRequest request, u64 name_ticks, i64 name_offset_ns, i64 step_number, bool last_of_window) {
  request.meta_damage = meta_damage_;
  Job job;
  job.early = request.before_training || (request.end_ticks && request.end_ticks <= meta_.training_ticks);
  // What names a trace must not depend on how many clock stamps follow. Before the first one (a child's window began in
  // its parent) there is nothing but the rate, which they all make.
  if (!meta_.clocks.empty()) name_ticks = std::max(name_ticks, meta_.clocks.front().ticks);
  job.name_ns = static_cast<u64>(std::max<i64>(clock_->realtime_ns(name_ticks) + name_offset_ns, 0));
  job.request = std::move(request);
  job.step_number = step_number;
  job.last_of_window = last_of_window;
  jobs_.push_back(std::move(job));
}

// A flush of a long recording shows the newest that fits.
SpanRequest Converter::limited(SpanRequest request) {
  std::vector<SpanCut> cuts = cut_spans(*recording_, meta_, request, options_.max_events_per_span);
  if (cuts.size() > 1) {
    request.begin_ticks = cuts.back().begin_ticks;
    request.warmup_ticks = 0;
  }
  return request;
}

void Converter::write_all() {
  written_.resize(jobs_.size());
  done_.resize(jobs_.size());
  size_t threads = std::min<size_t>(jobs_.size(), static_cast<size_t>(std::max(options_.threads, 1)));
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs_.size();) {
      try {
        hand_over(i, write_one(i));
      } catch (...) {
        hand_over(i, -1);
        std::lock_guard lock(mutex_);
        if (!failure) failure = std::current_exception();
        return;
      }
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; i++) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

std::string Converter::file_name(const Job& job, i64 step) const {
  const FileHeader& h = recording_->header();
  std::string worker = options_.worker_name;
  if (worker.empty()) worker = std::string(h.host) + "_" + std::to_string(h.pid);
  replace_all(worker, "{step}", std::to_string(step));
  replace_all(worker, "/", "_");
  return worker + "." + std::to_string(job.name_ns);
}

// A trace that does not know yet that the program trained later is told by the way.
bool Converter::is_written(const Job& job, const std::string& directory, i64 step, WrittenTrace& trace) const {
  for (const std::string& place : {directory, options_.known_in})
    for (const char* suffix : {kineto::kFileSuffixGz, kineto::kFileSuffix}) {
      if (place.empty()) continue;
      std::string plain = place + "/" + file_name(job, step) + suffix;
      std::string marked = kineto::before_training_name(plain);
      bool there = exists(plain);
      bool told = job.early && (there && place == directory ? kineto::mark_before_training(plain) : exists(marked));
      if (!there && !told) continue;
      trace.path = told ? marked : plain;
      trace.existed = true;
      return true;
    }
  return false;
}

// The step that names it to the user's command; -1: nothing was written.
i64 Converter::write_one(size_t index) {
  const Job& job = jobs_[index];
  WrittenTrace& trace = written_[index];
  std::string directory = options_.out_dir.empty() ? directory_of(path_) : options_.out_dir;
  // The step number may only be known with the span; without it in the name an existing file saves the work.
  bool step_in_name = options_.worker_name.find("{step}") != std::string::npos && job.step_number < 0;
  auto found = [&](i64 step) { return !options_.force && is_written(job, directory, step, trace); };
  if (!step_in_name && found(job.step_number)) return -1;
  if (job.only_to_mark) return -1;

  auto recording = Recording::open(path_, options_.begin);  // a reader of its own per thread
  Model model = build_model(*recording, meta_, job.request);
  if (model.empty() && !job.even_if_empty) return -1;
  if (state_.machine)
    put_machine_figures(state_.machine->between(model.begin_realtime_ns(), model.base_time_ns + u64(model.end_ns)),
                        model.info);
  trace.first_step = model.steps.empty() ? -1 : model.steps.front().number;
  trace.end_step = model.steps.empty() ? -1 : model.steps.back().number + 1;
  i64 step = job.step_number >= 0 ? job.step_number : std::max<i64>(trace.end_step, 0);
  if (found(step)) return -1;
  bool last = index + 1 == jobs_.size();
  std::vector<u64> told;
  {
    std::lock_guard lock(mutex_);
    damaged_ = damaged_ || recording->damage().any();
    if (last) told = tell_drops(model);
  }
  std::string plain = directory + "/" + file_name(job, step);
  trace.path = plain + (options_.use_gzip ? kineto::kFileSuffixGz : kineto::kFileSuffix);
  if (model.before_training) trace.path = kineto::before_training_name(trace.path);
  kineto::write_trace(model, trace.path, options_.use_gzip);
  if (last) state_.drops_told = told;  // only now: it may be written again
  // Another form of it would hide this one from the plugin, or be hidden by it, or count twice.
  if (options_.force)
    for (const char* suffix : {kineto::kFileSuffix, kineto::kFileSuffixGz})
      for (const std::string& other : {plain + suffix, kineto::before_training_name(plain + suffix)})
        if (other != trace.path) unlink(other.c_str());
  trace.events = model.ledger.written;
  trace.dropped = model.ledger.dropped_sum();
  return step;
}

// The user's command is given the traces in the order of their windows, each once those before it are done with too.
void Converter::hand_over(size_t index, i64 step) {
  std::lock_guard lock(mutex_);
  done_[index] = step;
  for (; handed_ < jobs_.size() && done_[handed_]; handed_++)
    if (*done_[handed_] >= 0 && !options_.on_trace_ready.empty())
      run_hook(options_.on_trace_ready, written_[handed_].path, *done_[handed_]);
}

bool Converter::drops_are_told() const {
  for (size_t i = 0; i < std::size(kDropWords); i++)
    if (recording_->header().dropped[i].load() > (i < state_.drops_told.size() ? state_.drops_told[i] : 0))
      return false;
  return true;
}

// The program counts what it drops for the whole process: each count stands in one ledger, that of the newest
// span written with it. Returns what is told with this one.
std::vector<u64> Converter::tell_drops(Model& model) const {
  std::vector<u64> told = state_.drops_told;
  told.resize(std::size(kDropWords));
  for (size_t i = 0; i < told.size(); i++) {
    u64 now = recording_->header().dropped[i].load();
    if (now <= told[i]) continue;
    model.ledger.dropped[kDropWords[i]] += now - told[i];
    told[i] = now;
  }
  return told;
}

}  // namespace

std::string rest_text(const Rest& rest, const std::string& recording) {
  if (!rest.events) return "";
  std::string text = std::to_string(rest.events) + " more events", first = std::to_string(rest.first_step);
  if (rest.first_step == -2) return text + ", all of evaluations, were not written as traces; they are in " + recording;
  if (rest.first_step >= 0) text += " (steps " + first + " to " + std::to_string(rest.end_step - 1) + ")";
  std::string range = rest.first_step < 0 ? "0:1" : first + ":" + std::to_string(rest.end_step);
  return text + " are in the recording: tprof convert --steps " + range + " " + shell_quote(recording);
}

u64 max_size_of(const Meta& meta) {
  u64 bytes = 0;
  OptionError ignored;
  return parse_bytes(info_text(meta, "option.max_size").c_str(), bytes, ignored) ? bytes : ~u64(0);
}

ConvertOptions options_of(const Meta& meta) {
  ConvertOptions options;
  options.use_gzip = info_flag(meta, "option.use_gzip", true);
  options.worker_name = info_text(meta, "option.worker_name");
  options.keep_recording = info_flag(meta, "option.keep_recording", false);
  return options;
}

ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options, ConvertState& state) {
  return Converter(recording_path, options, state).run();
}

u32 punch_written(const std::string& recording_path, const ConvertState& state) {
  return punch_written(recording_path, state.windows);
}

}  // namespace tprof
