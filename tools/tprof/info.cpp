// `tprof info`: what a recording, a trace or a log directory holds, as text or as JSON (schema 1: keys are only ever
// added).
#include <stdio.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.h"
#include "base/printable.h"
#include "cli/progress.h"
#include "command.h"
#include "exit_codes.h"
#include "finish/finisher_lock.h"
#include "input/inputs.h"
#include "input/trace_file.h"
#include "json/json.h"
#include "kineto/ledger.h"
#include "model/counted.h"
#include "model/death.h"
#include "record/reader.h"

namespace tprof {
namespace {

// What is reported of one file: printed as a JSON object, or as text with one line per member.
struct FileInfo {
  Json values = Json::object();
  Json capabilities = Json::object();

  void add(const std::string& key, const std::string& text) {
    if (!text.empty()) values[key] = text;
  }
  void add(const std::string& key, u64 value) { values[key] = value; }
  // Comes before all else. `signal` 0: not known.
  void died(int signal) { add("died", signal ? killed_text(signal) : kUnknownDeath); }
};

const char* state_name(WindowState state) {
  static const char* const names[] = {"warming up", "active", "closing", "sealed", "discarded"};
  u32 at = static_cast<u32>(state);
  return at < 5 ? names[at] : "?";
}

std::string window_text(const WindowInfo& w) {
  if (w.first_step < 0) return std::string("from start to exit, ") + state_name(w.state);
  std::string steps = w.end_step > w.first_step ? std::to_string(w.first_step) + ".." + std::to_string(w.end_step - 1)
                                                : "from " + std::to_string(w.first_step);
  return "steps " + steps + ", " + state_name(w.state);
}

// Reports a file into which the recordings of several helper processes were folded.
FileInfo report_folded(const std::string& path) {
  FileInfo r;
  r.add("recording", path);
  r.add("state", "complete");
  u64 processes = 0, events = 0, windows = 0, dropped = 0;
  bool damaged = false;
  for (u64 begin : recordings_in(path)) {
    std::unique_ptr<Recording> recording = Recording::open(path, begin);
    const FileHeader& h = recording->header();
    if (!processes++) r.add("host", h.host);
    windows += recording->read_meta().windows.size();
    recording->for_each_data(0, ~0u, [&](const RecordView& view) { events += is_range(view); });
    for (const auto& count : h.dropped) dropped += count;
    damaged |= recording->damage().any();
  }
  r.add("role", "helpers of another process, one after the other");
  r.add("processes", processes);
  r.add("events", events);
  r.add("windows recorded", windows);
  r.add("events dropped", dropped);
  if (damaged) r.add("damage", "some of it cannot be read");
  return r;
}

FileInfo report_recording(const std::string& path) {
  std::unique_ptr<Recording> recording = Recording::open(path);
  if (recording->is_folded()) return report_folded(path);
  const FileHeader& h = recording->header();
  Meta meta = recording->read_meta();
  FileInfo r;
  if (u32 signal = h.killed_by; signal && signal <= kSignals) r.died(int(signal));
  r.add("recording", path);
  bool alive = !h.closed && recording->writer_alive();
  r.add("state", alive ? "its program is running" : h.closed ? "complete" : "its program died");
  if (has_finisher(path)) r.add("finisher", "at work");
  r.add("host", h.host);
  r.add("process", u64(h.pid));
  r.add("role", h.role == static_cast<u32>(Role::helper) ? "helper of another process" : "program");
  if (!meta.info.empty()) r.values["info"] = meta.info;
  u64 events = 0;
  u64 calls = 0, gpu_records = 0;
  recording->for_each_data(0, ~0u, [&](const RecordView& view) {
    events += is_range(view);
    calls += view.kind() == Kind::call;
    gpu_records += view.kind() >= Kind::api && view.kind() <= Kind::gpu_memory;
  });
  r.add("events", events);
  if (calls) r.add("CUDA calls", calls);
  if (gpu_records) r.add("records of CUPTI", gpu_records);
  for (const auto& [number, device] : meta.devices) r.add("GPU " + std::to_string(number), std::string(device.name));
  r.add("threads", u64(meta.threads.size()));
  Counted counted = counted_of(meta);
  r.add("steps", counted.steps);
  r.add("counted", counted_text(counted));
  for (const WindowInfo& w : meta.windows) r.values["windows"].push_back(window_text(w));
  for (const TriggerRecord& t : meta.triggers) r.values["triggers"].push_back(trigger_text(t));
  if (u32 refused = h.refused_triggers) r.add("triggers refused", u64(refused));
  const char* const reasons[] = {
#define DROP(name, text) text,
      TPROF_DROP_REASONS(DROP)
#undef DROP
  };
  r.values["dropped"] = Json::object();
  for (u32 i = 0; i < static_cast<u32>(Drop::count); i++)
    if (u64 n = h.dropped[i]) r.values["dropped"][reasons[i]] = n;
  if (u32 why = h.stopped; why && why <= static_cast<u32>(Drop::count)) r.add("stopped", reasons[why - 1]);
  const Damage& d = recording->damage();
  if (d.any())
    r.add("damage", std::to_string(d.bad_chunks + d.missing_chunks) + " chunks and " + std::to_string(d.bad_records) +
                        " records cannot be read");
  if (d.unknown_kinds) r.add("records of a newer tprof", d.unknown_kinds);
  for (const auto& [name, c] : meta.capabilities) r.capabilities[name] = {{"on", c.on}, {"why", c.why}};
  return r;
}

FileInfo report_trace(const std::string& path) {
  TraceSummary trace = read_summary(path);
  FileInfo r;
  if (kineto::Death death = kineto::read_death(trace.ledger); death.inside) r.died(death.signal);
  r.add("trace", path);
  if (trace.head.is_null() && trace.ledger.is_null() && !kineto::holds_events(path))
    throw Error(Fault::unreadable,
                path + ": not a trace (it has no traceEvents); give a recording, a trace or a directory");
  for (const auto& [key, value] : trace.head.items())
    if (key != "traceEvents") r.values[key] = value;
  if (trace.ledger.is_null()) r.add("ledger", "none: not written by tprof, or cut off (tprof check explains it)");
  for (const auto& [key, value] : trace.ledger.items()) {
    if (key == "capabilities")
      r.capabilities = value;
    else
      r.values[key == "schema" ? "ledger schema" : key] = value;
  }
  if (trace.ledger.contains("step")) r.add("counted", trace.ledger["step"].value("counted", ""));
  return r;
}

// Text of a value: strings without quotes, lists and objects on one line.
std::string plain(const Json& value) {
  if (value.is_string()) return value.text();
  if (!value.is_array() && !value.is_object()) return json_line(value);
  std::string out;
  if (value.is_array())
    for (const Json& element : value) out += (out.empty() ? "" : ", ") + plain(element);
  for (const auto& [key, member] : value.items()) out += (out.empty() ? "" : ", ") + key + " " + plain(member);
  return out.empty() ? "none" : out;
}

void print_row(std::string name, const std::string& value) {
  constexpr size_t kNameWidth = 22;
  name = printable(name);
  name.resize(std::max(name.size(), kNameWidth), ' ');
  print(stdout, name + " " + printable(value) + "\n");
}

void print_text(const FileInfo& report) {
  for (const auto& [key, value] : report.values.items()) {
    if (key == "windows") {
      for (const Json& window : value) print_row("window", plain(window));
    } else if (key == "info") {
      for (const auto& [name, text] : value.items()) print_row(name, plain(text));
    } else {
      print_row(key, plain(value));
    }
  }
  for (const auto& [name, c] : report.capabilities.items()) {
    std::string why = c.value("why", "");
    print_row("can: " + name, (c.value("on", false) ? "on" : "off") + (why.empty() ? "" : ", " + why));
  }
}

void print_json(const FileInfo& report) {
  Json all = {{"schema", 1}};
  all.update(report.values);
  all["capabilities"] = report.capabilities;
  print(stdout, json_line(all) + "\n");
}

int info(const std::vector<std::string>& paths, bool json) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_directory(path)) {
      files.push_back(path);
      continue;
    }
    size_t before = files.size();
    for (const auto& list : {traces_in(path), list_files(path, is_recording_name)})
      files.insert(files.end(), list.begin(), list.end());
    if (files.size() == before) throw Error(Fault::unreadable, path + ": holds no trace and no recording");
  }
  int code = kExitOk;
  Progress progress("reading", Progress::Counts::read, size_of(files));
  for (const std::string& file : files) try {
      progress.say("reading " + std::filesystem::path(file).filename().string());
      FileInfo report = is_recording_name(file) ? report_recording(file) : report_trace(file);
      if (json)
        print_json(report);
      else {
        print_text(report);
        if (&file != &files.back()) print(stdout, "\n");
      }
    } catch (const Error& e) {
      complain(e.what());
      code = exit_code(e.fault);
    }
  return code;
}

}  // namespace

Action declare_info(Arguments& arguments) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false);
  arguments.toggle("--json", "", "print one JSON object per file, each on a line", *json);
  arguments.operands("PATH", "recordings, traces or log directories", 1, 0, *paths);
  return [paths, json] { return info(*paths, *json); };
}

}  // namespace tprof
