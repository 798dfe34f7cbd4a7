#include "top/job.h"

#include <string.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "live/slow_ranks.h"
#include "remote/process.h"

namespace tprof {
namespace {

constexpr u64 kFindEvery_ns = 1'000'000'000;
constexpr u64 kKeepEnded_ns = 10'000'000'000;  // if other programs run

std::string schedule_of(int pid) {
  std::string steps = started_with(pid, "TPROF_STEPS"), schedule = started_with(pid, "TPROF_SCHEDULE");
  if (!steps.empty()) schedule = "steps " + steps;
  return schedule.empty() ? "" : ": the schedule is " + schedule;
}

constexpr char kNothingSoFar[] = "nothing is recorded so far";

}  // namespace

WatchedJob::WatchedJob(const std::string& subject) {
  std::error_code ignored;
  if (int pid = pid_in(subject)) {
    pid_ = pid;
    process_ = process_identity(pid);
    if (!process_.start_time) throw Error(Fault::unreadable, "there is no process " + subject + " on this machine");
  } else if (std::filesystem::is_directory(subject, ignored)) {
    directory_ = subject;
  } else {
    throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory");
  }
  find();
  if (!programs_.empty() || !waits_.empty()) return;
  if (!problem_.empty()) throw Error(Fault::unreadable, problem_);
  bool some = !list_files(directory_, is_recording_name).empty();
  throw Error(Fault::unreadable,
              directory_ + (some
                                ? ": none of its programs is running; what they did: tprof overview " + directory_
                                : ": holds no recording of a running program (*.tprof); a program whose schedule waits "
                                  "for its first window has none yet: give its process id"));
}

// The log directory of a process: that of its recording, or of one of a process that it has started.
void WatchedJob::find_directory() {
  std::vector<int> pids = {pid_};
  pids = with_descendants(std::move(pids));
  pids_ = {pids.begin(), pids.end()};
  MappedHere all;
  std::string schedule;
  for (int pid : pids) {
    MappedHere one = tprof_in(pid);
    all.readable |= one.readable;
    all.recorded |= one.recorded;
    if (one.library && !all.library) schedule = schedule_of(pid);
    all.library |= one.library;
    if (one.log_directory.empty()) continue;
    directory_ = one.log_directory;
    waits_.clear();
    return;
  }
  std::string process = "process " + std::to_string(pid_);
  if (all.recorded)
    problem_ = process + " is recorded into a file that cannot be reached from here: run this where the program runs";
  else if (all.library)
    waits_ = kNothingSoFar + schedule;
  else if (!all.readable)
    problem_ = process + " cannot be looked at: " + remote::refusal(pid_);
  else
    problem_ = process + " is not recorded by tprof: start it with tprof-run; what it does now: tprof stack " +
               std::to_string(pid_);
  if (waits_.empty() && !found_ns_) throw Error(Fault::unreadable, problem_);
}

// With a process it is one of those that it has started, or a worker of one of them that has lost its parent.
bool WatchedJob::is_wanted(const live::Program& program) const {
  if (!pid_ || pids_.count(program.pid_here())) return true;
  const FileHeader& h = program.header();
  return std::any_of(programs_.begin(), programs_.end(), [&](const auto& entry) {
    const FileHeader& parent = entry.second->header();
    return parent.pid == h.parent_pid && !strcmp(parent.host, h.host);
  });
}

void WatchedJob::open_new(const std::string& path, live::ProcessesHere& processes) {
  try {
    auto program = std::make_unique<live::Program>(path, processes);
    bool runs = program->runs() && program->header().header_bytes == kHeaderBytes;
    if (runs && is_wanted(*program))
      programs_.emplace(path, std::move(program));
    else if (!runs)
      refused_.insert(path);
  } catch (const Error& e) {
    if (problem_.empty()) problem_ = e.what();  // it may be just being made: it is tried again
  }
}

// The log directory is known, but nobody records into it so far.
void WatchedJob::wait_for_program() {
  if (int pid = program_for(directory_))
    waits_ = kNothingSoFar + schedule_of(pid);
  else if (!waits_.empty())
    waits_ = "the program that was waited for has ended; nothing was recorded while it was watched";
}

void WatchedJob::find() {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  if (found_ns_ && now - found_ns_ < kFindEvery_ns) return;
  if (directory_.empty()) {
    find_directory();
  } else if (pid_) {
    std::vector<int> pids = {pid_};
    pids = with_descendants(std::move(pids));
    pids_ = {pids.begin(), pids.end()};
  }
  found_ns_ = now;
  if (directory_.empty()) return;
  std::set<std::string> here;
  live::ProcessesHere processes;
  for (const std::string& path : list_files(directory_, is_recording_name)) {
    here.insert(path);
    if (!programs_.count(path) && !refused_.count(path)) open_new(path, processes);
  }
  if (!pid_ && programs_.empty()) wait_for_program();
  std::erase_if(refused_, [&](const std::string& path) { return !here.count(path); });
}

void WatchedJob::forget_ended() {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  bool some_run = !all_ended();
  std::erase_if(programs_, [&](auto& entry) {
    auto& [path, program] = entry;
    if (!program->ended()) return false;
    u64 since = ended_ns_.try_emplace(path, now).first->second;
    bool forget = program->is_helper() || (some_run && now - since > kKeepEnded_ns);
    if (forget) ended_ns_.erase(path), refused_.insert(path);
    return forget;
  });
}

void WatchedJob::look() {
  find();
  for (auto& [path, program] : programs_) program->look();
  forget_ended();
  if (!programs_.empty()) waits_.clear();
  bool over = pid_ && programs_.empty() && process_identity(pid_).start_time != process_.start_time;
  if (over) waits_ = "process " + std::to_string(pid_) + " has ended; nothing was recorded while it was watched";
}

void WatchedJob::look_at_changes() {
  for (auto& [path, program] : programs_)
    if (program->has_changed()) program->look();
}

bool WatchedJob::all_ended() const {
  return std::all_of(programs_.begin(), programs_.end(), [](const auto& entry) { return entry.second->ended(); });
}

std::vector<live::ProgramView> WatchedJob::views(size_t most_operators, size_t most_lines) {
  std::vector<live::ProgramView> out;
  for (auto& [path, program] : programs_)
    if (!program->is_helper()) out.push_back(program->view(most_operators, most_lines));
  std::stable_sort(out.begin(), out.end(), [](const live::ProgramView& a, const live::ProgramView& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.pid < b.pid;
  });
  for (auto& [path, program] : programs_) {
    if (!program->is_worker() || program->ended()) continue;
    for (live::ProgramView& view : out)
      if (view.pid == program->header().parent_pid && view.host == program->header().host)
        view.workers.push_back(program->worker());
  }
  for (live::ProgramView& view : out)
    std::sort(view.workers.begin(), view.workers.end(), [](const live::LoaderView& a, const live::LoaderView& b) {
      return a.loader != b.loader ? a.loader < b.loader : a.worker < b.worker;
    });
  live::mark_slow_ranks(out);
  return out;
}

}  // namespace tprof
