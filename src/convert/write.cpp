#include "convert/write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>

#include "base/child.h"
#include "base/error.h"
#include "base/printable.h"
#include "convert/loaders.h"
#include "convert/machine.h"
#include "convert/shell.h"
#include "kineto/names.h"
#include "kineto/write/amend.h"
#include "kineto/write/writer.h"
#include "model/job.h"
#include "record/give_up.h"

namespace tprof {
namespace {

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool exists(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

// Perhaps while it was read.
bool was_given_back(Recording& recording, i64 window) {
  try {
    recording.refresh();
  } catch (const Error&) {
    return false;  // it was damaged after it was read
  }
  return is_given_back(recording, window);
}

class JobWriter {
 public:
  JobWriter(const OpenRecording& recording, const std::vector<TraceJob>& jobs, const ConvertOptions& options,
            ConvertState& state)
      : header_(recording.reader->header()),
        meta_(recording.meta),
        path_(recording.reader->path()),
        directory_(options.out_dir.empty() ? directory_of(path_) : options.out_dir),
        jobs_(jobs),
        options_(options),
        state_(state),
        rank_(place_of(header_, meta_).rank),
        traces_(jobs.size()),
        done_(jobs.size()) {}

  WrittenTraces run() {
    write_all();
    WrittenTraces out;
    out.damaged = damaged_;
    out.given_back = given_back_;
    for (WrittenTrace& trace : traces_)
      if (!trace.path.empty()) out.traces.push_back(std::move(trace));
    return out;
  }

 private:
  void write_all();
  i64 write_one(size_t index);
  void finish(size_t index, i64 step);
  bool is_written(const TraceJob& job, i64 step, WrittenTrace& trace) const;
  void remove_other_forms(const std::string& plain, const std::string& written) const;
  std::string file_name(const TraceJob& job, i64 step, bool with_rank) const;
  std::vector<u64> report_drops(Model& model) const;

  const FileHeader& header_;
  const Meta& meta_;
  const std::string path_;
  const std::string directory_;  // of the traces
  const std::vector<TraceJob>& jobs_;
  const ConvertOptions& options_;
  ConvertState& state_;
  const i32 rank_;                        // -1: not known
  std::vector<WrittenTrace> traces_;      // by job
  std::vector<std::optional<i64>> done_;  // by job: what write_one() returned
  size_t finished_ = 0;                   // jobs whose command has run
  bool damaged_ = false, given_back_ = false;
  std::mutex mutex_;  // of state_, what was found, done_ and the user's commands
};

void JobWriter::write_all() {
  size_t threads = std::min<size_t>(jobs_.size(), size_t(std::max(options_.threads, 1)));
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs_.size();) {
      try {
        finish(i, write_one(i));
      } catch (...) {
        finish(i, -1);
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

// <host>_<pid>_rank<rank>.<time>, of which the plugin takes the first two for node and process. Without the rank as
// long as it was not known.
std::string JobWriter::file_name(const TraceJob& job, i64 step, bool with_rank) const {
  std::string worker = options_.worker_name;
  if (worker.empty()) worker = std::string(header_.host) + "_" + std::to_string(header_.pid);
  std::string rank = with_rank && rank_ >= 0 ? std::to_string(rank_) : "";
  bool placed = worker.find("{rank}") != std::string::npos;
  replace_all(worker, "{rank}", rank);
  if (!placed && !rank.empty()) worker += "_rank" + rank;
  replace_all(worker, "{step}", std::to_string(step));
  replace_all(worker, "/", "_");
  return worker + "." + std::to_string(job.name_ns);
}

// Whether a trace of the job exists. If it does not state yet that the program trained later, it is marked here.
bool JobWriter::is_written(const TraceJob& job, i64 step, WrittenTrace& trace) const {
  for (const std::string& directory : {directory_, options_.known_in})
    for (bool with_rank : {true, false})
      for (const char* suffix : {kineto::kFileSuffixGz, kineto::kFileSuffix}) {
        if (directory.empty()) continue;
        std::string plain = directory + "/" + file_name(job, step, with_rank) + suffix;
        std::string marked = kineto::before_training_name(plain);
        bool there = exists(plain);
        bool is_marked = job.ended_before_training &&
                         (there && directory == directory_ ? kineto::mark_before_training(plain) : exists(marked));
        if (!there && !is_marked) continue;
        trace.path = is_marked ? marked : plain;
        trace.existed = true;
        return true;
      }
  return false;
}

// Returns the step for {step} of the user's command; -1: nothing was written.
i64 JobWriter::write_one(size_t index) {
  const TraceJob& job = jobs_[index];
  WrittenTrace& trace = traces_[index];
  // Where the file name holds a step that is known only with the Model, an existing file is found after that.
  bool step_unknown = options_.worker_name.find("{step}") != std::string::npos && job.step_number < 0;
  auto found = [&](i64 step) { return !options_.force && is_written(job, step, trace); };
  if (!step_unknown && found(job.step_number)) return -1;
  if (job.only_to_mark) return -1;

  auto recording = Recording::open(path_, options_.begin);  // each thread has a reader of its own
  Model model = build_model(*recording, meta_, job.request);
  if (job.request.window >= 0 && was_given_back(*recording, job.request.window)) {
    std::lock_guard lock(mutex_);
    given_back_ = true;
    return -1;
  }
  if (model.empty() && !job.even_if_empty) return -1;
  add_loaders(model, *recording, meta_, job.request);
  if (state_.machine)
    put_machine_figures(state_.machine->between(model.begin_realtime_ns(), model.base_time_ns + u64(model.end_ns)),
                        model.info);
  trace.first_step = model.steps.empty() ? -1 : model.steps.front().number;
  trace.end_step = model.steps.empty() ? -1 : model.steps.back().number + 1;
  i64 step = job.step_number >= 0 ? job.step_number : std::max<i64>(trace.end_step, 0);
  if (found(step)) return -1;
  bool last = index + 1 == jobs_.size();
  std::vector<u64> drops;
  {
    std::lock_guard lock(mutex_);
    damaged_ = damaged_ || recording->damage().any();
    if (last) drops = report_drops(model);
  }
  std::string plain = directory_ + "/" + file_name(job, step, true);
  trace.path = plain + (options_.use_gzip ? kineto::kFileSuffixGz : kineto::kFileSuffix);
  if (model.before_training) trace.path = kineto::before_training_name(trace.path);
  kineto::write_trace(model, trace.path, options_.use_gzip);
  MustComplete rest;  // a trace that exists is left alone next time, and with it what belongs to it
  if (last) state_.drops_reported = drops;  // only now: if writing fails, the next trace reports them
  if (options_.force) remove_other_forms(plain, trace.path);
  if (options_.on_written) options_.on_written(model, trace.path);
  trace.events = model.ledger.written;
  trace.dropped = model.ledger.dropped_sum();
  return step;
}

// Removes other forms of the trace: the plugin would show one of them, or count both.
void JobWriter::remove_other_forms(const std::string& plain, const std::string& written) const {
  for (const char* suffix : {kineto::kFileSuffix, kineto::kFileSuffixGz})
    for (const std::string& other : {plain + suffix, kineto::before_training_name(plain + suffix)})
      if (other != written) unlink(other.c_str());
}

// Runs the user's command for the traces in the order of the jobs: for each one as soon as all before it are done.
void JobWriter::finish(size_t index, i64 step) {
  std::lock_guard lock(mutex_);
  done_[index] = step;
  for (; finished_ < jobs_.size() && done_[finished_]; finished_++) {
    if (*done_[finished_] < 0 || options_.on_trace_ready.empty()) continue;
    std::string failed =
        run_by_shell("on_trace_ready", options_.on_trace_ready,
                     {{"{step}", std::to_string(*done_[finished_])}, {"{}", shell_quote(traces_[finished_].path)}});
    if (!failed.empty()) print(stderr, "tprof: " + failed + "\n");
  }
}

// The program counts what it drops for the whole process. Each count stands in one ledger: that of the last span
// written in the conversion that sees it. Returns the counts that are reported then.
std::vector<u64> JobWriter::report_drops(Model& model) const {
  std::vector<u64> reported = state_.drops_reported;
  reported.resize(std::size(kDropNames));
  for (size_t i = 0; i < reported.size(); i++) {
    u64 now = header_.dropped[i].load();
    if (now <= reported[i]) continue;
    model.ledger.dropped[kDropNames[i]] += now - reported[i];
    reported[i] = now;
  }
  return reported;
}

}  // namespace

WrittenTraces write_traces(const OpenRecording& recording, const std::vector<TraceJob>& jobs,
                           const ConvertOptions& options, ConvertState& state) {
  return JobWriter(recording, jobs, options, state).run();
}

}  // namespace tprof
