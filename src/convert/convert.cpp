#include "convert/convert.h"

#include "base/child.h"
#include "base/options.h"
#include "convert/plan.h"
#include "convert/shell.h"
#include "convert/write.h"
#include "model/reclaim.h"

namespace tprof {
namespace {

OpenRecording open_recording(const std::string& path, u64 begin) {
  OpenRecording out;
  out.reader = Recording::open(path, begin);
  // Before anything is read: what the program writes after this moment keeps the recording incomplete.
  out.alive = out.reader->writer_alive() && !out.reader->header().closed.load();
  out.meta = out.reader->read_meta();
  out.meta_damage = out.reader->damage();
  return out;
}

bool option_flag(const Meta& meta, const char* name, bool otherwise) {
  std::string value = meta.option(name);
  return value.empty() ? otherwise : value != "0";
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
  return parse_bytes(meta.option("max_size").c_str(), bytes, ignored) ? bytes : ~u64(0);
}

ConvertOptions options_of(const Meta& meta) {
  ConvertOptions options;
  options.use_gzip = option_flag(meta, "use_gzip", true);
  options.worker_name = meta.option("worker_name");
  options.keep_recording = option_flag(meta, "keep_recording", false);
  return options;
}

ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options, ConvertState& state) {
  OpenRecording recording = open_recording(recording_path, options.begin);
  Plan plan = plan_traces(recording, options, state);
  WrittenTraces written = write_traces(recording, plan.jobs, options, state);
  state.training_marked = recording.meta.training_ticks != 0;
  for (const TraceJob& job : plan.jobs) {
    if (job.last_of_window) state.windows.insert(u32(job.request.window));
    if (job.flush >= 0) state.flushes.insert(u32(job.flush));
  }
  ConvertResult result;
  result.traces = std::move(written.traces);
  result.rest = plan.rest;
  result.complete = plan.complete;
  result.more = plan.more;
  result.damaged = written.damaged || recording.reader->damage().any();
  result.nothing_recorded = !recording.alive && options.first_step < 0 && result.traces.empty();
  result.note = plan.note.empty() && written.given_back ? kGivenBack : std::move(plan.note);
  return result;
}

u32 punch_written(const std::string& recording_path, const ConvertState& state) {
  return punch_written(recording_path, state.windows);
}

}  // namespace tprof
