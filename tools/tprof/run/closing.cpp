#include "run/closing.h"

#include <signal.h>
#include <sys/wait.h>

#include <map>

#include "base/error.h"
#include "base/signal_text.h"
#include "cli/progress.h"
#include "convert/convert.h"
#include "finish/workers.h"
#include "hang/report.h"
#include "input/trace_file.h"
#include "kineto/ledger.h"
#include "model/death.h"
#include "record/reader.h"
#include "run/counts.h"
#include "run/newest.h"
#include "run/signal_state.h"

namespace tprof {

i64 first_recorded_step(const Schedule& schedule) {
  if (!schedule.given) return -1;
  return schedule.skip_first + (schedule.skip_first_wait ? 0 : schedule.wait) + schedule.warmup;
}

Written read_written(const std::string& directory, const std::set<std::string>& before, Completion& completion) {
  Written out{directory, {}};
  std::vector<std::string> paths = list_files(directory, is_trace_name);
  std::erase_if(paths, [&](const std::string& path) { return before.count(path) > 0; });
  size_t all = paths.size();
  paths = newest_within(paths, kMostTraceBytes);
  out.left_out = all - paths.size();
  Progress progress("reading what was written", Progress::Counts::read, size_of(paths));
  for (const std::string& path : paths) try {
      out.traces.push_back({path, {}});
      out.traces.back().summary = read_summary(path);
    } catch (const Error& e) {
      if (completion.note.empty()) completion.note = e.what();
    }
  return out;
}

namespace {

// "rank 3", or "process 4711" outside of a job.
std::string name_of(const TraceSummary& trace) {
  const Json& place = trace.head["distributedInfo"];
  if (place.contains("rank")) return "rank " + json_line(place["rank"]);
  return "process " + json_line(trace.ledger["span"]["pid"]);
}

// Of a job whose processes died by several signals, those that went wrong come first: the others were told to end.
Deaths deaths_of_processes(const std::vector<NewTrace>& written) {
  std::map<std::pair<bool, int>, std::set<std::string>> names;  // by signal, faults first
  for (const NewTrace& trace : written) {
    int signal = kineto::read_death(trace.summary.ledger).signal;
    if (signal) names[{!is_fault(signal), signal}].insert(name_of(trace.summary));
  }
  Deaths out;
  for (const auto& [signal, who] : names) {
    std::string subject = who.size() == 1 ? *who.begin() + " was " : std::to_string(who.size()) + " processes were ";
    out.text += (out.text.empty() ? "" : "; ") + subject + killed_text(signal.second);
    out.fault |= is_fault(signal.second);
  }
  return out;
}

std::string unfinished_text(const std::string& directory) {
  return "a trace is still being written in the background; tprof's commands wait for it when they read " + directory;
}

}  // namespace

std::string short_line(const std::string& directory, const std::set<std::string>& before,
                       const Completion& completion) {
  size_t traces = 0;
  for (const std::string& path : list_files(directory, is_trace_name)) traces += !before.count(path);
  std::string line = "wrote " + std::to_string(traces) + (traces == 1 ? " trace to " : " traces to ") + directory;
  if (completion.unfinished) return (traces ? line + "; " : "") + unfinished_text(directory);
  return line + "; tprof overview " + directory + " shows where the time went";
}

Deaths deaths_of(const std::vector<NewTrace>& written, int status) {
  if (!WIFSIGNALED(status)) return deaths_of_processes(written);
  return {"the program was " + killed_text(WTERMSIG(status)), is_fault(WTERMSIG(status))};
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
    std::string missed =
        first > 0 ? "step " + std::to_string(first) + ", the first to be recorded" : "it used torch or CUDA";
    if (completion.unrecorded.steps && first >= 0)
      line += "the program made " + counted_text(completion.unrecorded) +
              ", from step 0 on, and the first one to be recorded is step " + std::to_string(first) +
              "; lower skip_first, wait or warmup";
    else if (!completion.any && completion.lost)
      line += "the recording of the program is gone; it was deleted or moved while the program ran";
    else if (options.window.profiler_api)
      line += "--window is cudaProfilerApi and cudaProfilerStart() was not called";
    else if (!options.autostart)
      line += "--autostart is 0 and tprof_start() was not called";
    else if (completion.status && WIFSIGNALED(completion.status))
      line += "it died before " + missed;
    else if (completion.status)
      line += "the program ended with status " + std::to_string(WEXITSTATUS(completion.status)) + " before " + missed;
    else
      line += std::string("the program used neither torch nor CUDA") +
              (first > 0 ? ", or ended before step " + std::to_string(first) + ", the first to be recorded" : "") +
              "; tprof doctor checks what works on this machine";
  }
  if (completion.unfinished && note.empty()) note = unfinished_text(directory);
  if (!note.empty()) line += (line.empty() ? "" : "; ") + note;
  if (completion.running)
    line += (line.empty() ? "" : "; ") + std::to_string(completion.running) +
            (completion.running == 1 ? " process still records in " : " processes still record in ") + directory;
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
      std::string text = rest_text({header.rest_events, header.rest_first_step, header.rest_end_step}, path);
      if (!text.empty()) return text;
    } catch (const Error&) {  // reported already, or by `tprof convert`
    }
  return "";
}

std::string hangs_line(const std::string& directory, const std::set<std::string>& before) {
  std::vector<std::string> reports = list_files(directory, hang::is_report_name);
  std::erase_if(reports, [&](const std::string& path) { return before.contains(path); });
  if (reports.empty()) return "";
  std::string first = "the stacks of a hang are in " + reports[0];
  return reports.size() == 1 ? first : first + ", and " + std::to_string(reports.size() - 1) + " more files like it";
}

int flush_recordings(const std::string& directory, int signal, int program) {
  std::set<int> targets = {program};
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      std::unique_ptr<Recording> recording = Recording::open(path);
      if (recording->writer_alive()) targets.insert(static_cast<int>(recording->header().pid));
    } catch (const Error&) {  // reported when the program has ended
    }
  int sent = 0;
  for (int pid : targets)
    if (signal_is_caught(pid, signal) && kill(pid, signal) == 0) sent++;
  return sent;
}

}  // namespace tprof
