#include "closing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "command.h"
#include "convert.h"
#include "counts.h"
#include "finish.h"
#include "record/reader.h"
#include "trace_file.h"
#include "workers.h"

namespace tprof {
namespace {

constexpr u64 kPatienceNs = 3600'000'000'000u;  // a trace of hours on a slow disk; Ctrl-C ends it sooner
constexpr u64 kSilentNs = 2'000'000'000u;

// Waits for a trace, with one line on a terminal when it takes long. False when the user or time ended it.
bool wait_for_trace(const std::function<bool()>& done, Supervisor& supervisor, bool quiet) {
  if (wait_for(done, supervisor, kSilentNs)) return true;
  if (supervisor.interrupted()) return false;
  if (!quiet && isatty(2)) complain("the last trace is being written (Ctrl-C: go on without waiting)");
  return wait_for(done, supervisor, kPatienceNs);
}

bool same_machine(const FileHeader& header) {
  return !strcmp(process_identity(getpid()).boot_id, header.boot_id);
}

// Of a program that reached no window: the last of its steps is all that its recording holds.
void count_unrecorded(const StepInfo& last, Counted& out) {
  bool settled = (last.flags & kStepHasWork) && !(last.flags & kStepWithdrawn);  // else it only ended the one before
  u64 steps = static_cast<u64>(std::max<i64>(last.number, 0)) + settled;
  if (steps <= out.steps) return;
  out.by = last.by;
  out.steps = steps;
  out.guessed = last.flags & kStepGuessed;
}

// Runs the finisher in a process of its own: a session of its own lets it go on after a Ctrl-C, and damage
// that crashes it leaves us alive to say so.
void finish_one(const std::string& path, Supervisor& supervisor, bool quiet, Completion& out) {
  int child = fork();
  if (child == 0) {
    setsid();
    supervisor.restore();
    int code = kExitUnreadable;
    try {
      code = finish_recording(path);
    } catch (const std::exception& e) {
      if (!quiet) complain(e.what());
    }
    _exit(code);
  }
  int status = 0;
  if (child < 0 || !wait_for_trace([&] { return waitpid(child, &status, WNOHANG) != 0; }, supervisor, quiet)) {
    out.unfinished++;
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) == kExitUnreadable) {
    out.unfinished++;
    if (out.note.empty()) out.note = path + " could not be converted; tprof convert says why";
  }
}

}  // namespace

bool wait_for(const std::function<bool()>& done, Supervisor& supervisor, u64 patience_ns) {
  u64 start = clock_ns(CLOCK_MONOTONIC);
  while (!done()) {
    if (supervisor.interrupted() || clock_ns(CLOCK_MONOTONIC) - start > patience_ns) return false;
    usleep(20'000);
  }
  return true;
}

i64 first_recorded_step(const Schedule& schedule) {
  if (!schedule.given) return -1;
  return schedule.skip_first + (schedule.skip_first_wait ? 0 : schedule.wait) + schedule.warmup;
}

Completion complete_recordings(const std::string& directory, Supervisor& supervisor, bool quiet) {
  Completion out;
  for (const std::string& path : list_files(directory, is_recording_name)) {
    try {
      std::unique_ptr<Recording> recording = Recording::open(path);
      const FileHeader& header = recording->header();
      // Another machine's (a shared directory) is left to that machine; a helper's to `tprof convert
      // --workers`.
      if (!same_machine(header) || header.role == static_cast<u32>(Role::helper)) continue;
      if (header.closed == kClosedFinished) continue;
      bool ended = header.closed || !recording->writer_alive();
      if (!ended) {
        out.running++;
        continue;
      }
      if (!wait_for_trace([&] { return !has_finisher(path); }, supervisor, quiet)) {
        out.unfinished++;
        continue;
      }
      struct stat s;
      if (stat(path.c_str(), &s) != 0) continue;  // done and gone
      recording->refresh();
      if (recording->header().closed == kClosedFinished) continue;
      Meta meta = recording->read_meta();
      if (meta.windows.empty() && !meta.steps.empty()) count_unrecorded(meta.steps.back(), out.unrecorded);
      finish_one(path, supervisor, quiet, out);
    } catch (const Error& e) {
      struct stat s;
      if (stat(path.c_str(), &s) == 0 && out.note.empty()) out.note = e.what();
    }
  }
  return out;
}

std::vector<NewTrace> new_traces(const std::string& directory, const std::set<std::string>& before,
                                 Completion& completion) {
  std::vector<NewTrace> out;
  for (const std::string& path : list_files(directory, is_trace_name)) try {
      if (before.count(path)) continue;
      out.push_back({path, {}});
      out.back().summary = read_summary(path);
    } catch (const Error& e) {
      if (completion.note.empty()) completion.note = e.what();
    }
  return out;
}

std::string closing_line(const std::string& directory, const std::vector<NewTrace>& written,
                         const Completion& completion, const Options& options) {
  u64 events = 0, dropped = 0;
  std::string line, note = completion.note;
  for (const NewTrace& trace : written) {
    events += trace.summary.written;
    dropped += trace.summary.dropped;
  }
  std::string counts = " (" + std::to_string(events) + " events, " + std::to_string(dropped) + " dropped)";
  if (std::string steps = counted_in(written); !steps.empty()) counts += ": " + steps;
  if (written.size() == 1) {
    line = "wrote " + written[0].path + counts +
           "; next: open it in https://ui.perfetto.dev, or tensorboard --logdir " + directory;
  } else if (!written.empty()) {
    line = "wrote " + std::to_string(written.size()) + " traces to " + directory + counts +
           "; next: tensorboard --logdir " + directory;
  } else if (!completion.running && !completion.unfinished && !note.empty()) {
    line = "no trace was written: " + note;
    note.clear();
  } else if (!completion.running && !completion.unfinished) {
    i64 first = first_recorded_step(options.schedule);
    line = "nothing was recorded: ";
    std::string missed = first > 0 ? "step " + std::to_string(first) + ", the first to be recorded" : "it used torch or CUDA";
    if (completion.unrecorded.steps && first >= 0)
      line += "the program made " + counted_text(completion.unrecorded) + ", from step 0 on, and the first one to be "
              "recorded is step " + std::to_string(first) + "; lower skip_first, wait or warmup";
    else if (options.window.profiler_api)
      line += "--window is cudaProfilerApi and cudaProfilerStart() was not called";
    else if (!options.autostart)
      line += "--autostart is 0 and tprof_start() was not called";
    else if (completion.status && WIFSIGNALED(completion.status))
      line += "the program was ended by signal " + std::to_string(WTERMSIG(completion.status)) + " before " + missed;
    else if (completion.status)
      line += "the program ended with status " + std::to_string(WEXITSTATUS(completion.status)) + " before " + missed;
    else
      line += std::string("the program used neither torch nor CUDA") +
              (first > 0 ? ", or ended before step " + std::to_string(first) + ", the first to be recorded"
                         : "") +
              "; tprof doctor says what works here";
  }
  if (completion.unfinished)
    line +=
        (line.empty() ? "" : "; ") +
        (note.empty() ? "a trace is still being written; if it does not appear: tprof convert " + directory
                      : note);
  else if (!note.empty())
    line += (line.empty() ? "" : "; ") + note;
  if (completion.running)
    line += (line.empty() ? "" : "; ") + std::to_string(completion.running) +
            (completion.running == 1 ? " process still records in " : " processes still record in ") +
            directory;
  return line;
}

std::string workers_clause(const std::string& directory, const std::set<std::string>& before) {
  size_t count = count_workers(directory, before);
  if (count == 0) return "";
  return "; " + std::to_string(count) + (count == 1 ? " recording" : " recordings") +
         " of data-loader workers and other helpers " + (count == 1 ? "is" : "are") +
         " kept: tprof convert --workers " + directory;
}

std::string rest_line(const std::string& directory, const std::set<std::string>& before) {
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      if (before.count(path)) continue;
      std::unique_ptr<Recording> recording = Recording::open(path);
      const FileHeader& header = recording->header();
      if (header.closed != kClosedFinished || header.role == static_cast<u32>(Role::helper)) continue;
      Meta meta = recording->read_meta();
      bool whole = !meta.windows.empty() && meta.windows.front().first_step == -1;
      if (!whole) continue;
      ConvertOptions options = options_of(meta);
      ConvertResult result = convert_recording(path, options);  // all is written: this only counts
      if (!result.note.empty()) return result.note;
    } catch (const Error&) {  // said already, or by `tprof convert`
    }
  return "";
}

int flush_recordings(const std::string& directory, int signal, int program) {
  std::set<int> targets = {program};
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      std::unique_ptr<Recording> recording = Recording::open(path);
      if (recording->writer_alive()) targets.insert(static_cast<int>(recording->header().pid));
    } catch (const Error&) {  // not ours to report now
    }
  int sent = 0;
  for (int pid : targets)
    if (catches_signal(pid, signal) && kill(pid, signal) == 0) sent++;
  return sent;
}

}  // namespace tprof
