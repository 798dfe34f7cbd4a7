#include "input/inputs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "cli/progress.h"
#include "command.h"
#include "convert/convert.h"
#include "exit_codes.h"
#include "finish/finisher_lock.h"
#include "input/trace_file.h"
#include "run/nested.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDeepest = 256;  // parts of a path

std::vector<std::string> recordings_below(const std::string& path) {
  std::vector<std::string> out;
  std::error_code why;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, why), end;
  for (; !why && at != end; at.increment(why))
    if (is_recording_name(at->path().filename().string())) out.push_back(at->path().string());
  return out;
}

// The last `parts` parts of a path.
std::string end_of(const fs::path& path, size_t parts) {
  fs::path out;
  auto at = path.end();
  while (parts-- && at != path.begin() && *std::prev(at) != path.root_path()) out = out.empty() ? *--at : *--at / out;
  return out.string();
}

// Runs of several directories that have one name, as base/log and new/log, get as much of their paths as tells them
// apart: what is of one run and span is one job.
void tell_runs_apart(std::vector<Input>& inputs) {
  std::map<std::string, std::set<std::string>> places;
  for (const Input& input : inputs) places[input.run].insert(input.directory);
  for (Input& input : inputs) {
    const std::set<std::string>& all = places[input.run];
    if (all.size() < 2) continue;
    size_t parts = 1;
    for (std::set<std::string> names; names.size() < all.size() && parts <= kDeepest; parts++) {
      names.clear();
      for (const std::string& place : all) names.insert(end_of(place, parts + 1));
    }
    input.run = end_of(input.directory, parts);
  }
}

// Names files that have the suffix of a trace and are not one.
void say_skipped(const std::string& directory, const std::vector<std::string>& files) {
  constexpr size_t kNamed = 3;
  if (files.empty()) return;
  std::string line =
      directory + ": not read, since " + (files.size() == 1 ? "it is not a trace" : "they are not traces");
  for (size_t i = 0; i < files.size() && i < kNamed; i++)
    line += (i ? ", " : ": ") + std::filesystem::path(files[i]).lexically_relative(directory).string();
  if (files.size() > kNamed) line += " and " + std::to_string(files.size() - kNamed) + " more";
  complain(line);
}

}  // namespace

std::vector<std::string> traces_in(const std::string& directory) {
  std::vector<std::string> out, skipped;
  for (const std::string& file : list_files(directory, kineto::ends_as_json))
    (kineto::is_trace(file) ? out : skipped).push_back(file);
  say_skipped(directory, skipped);
  return out;
}

Source source_of(const Input& input, const Model& model, RuleSet rules) {
  if (rules == RuleSet::plugin) return {input.run, input.worker, input.span};
  return {input.run, input.worker, input.span, model.rank, model.host};
}

std::map<std::string, size_t> workers_of(const std::vector<Input>& inputs) {
  std::map<std::string, std::set<std::string>> names;
  for (const Input& input : inputs) names[input.run].insert(input.worker);
  std::map<std::string, size_t> out;
  for (const auto& [run, workers] : names) out[run] = workers.size();
  return out;
}

Inputs::Inputs(const std::vector<std::string>& paths, RuleSet rules) : rules_(rules) {
  for (const std::string& path : paths) {
    add(path);
    ends_.push_back(all_.size());
  }
  tell_runs_apart(all_);
}

Scratch::~Scratch() {
  if (ours_ >= 0) close(ours_);
  if (remover_ > 0) wait_for_child(remover_);
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);  // where there is no shell
}

// By another process, which waits for the end of this one however it comes: Ctrl-C, `| head`.
void Scratch::remove_at_end() {
  int ends[2], nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0 || pipe2(ends, O_CLOEXEC) != 0) return;
  ChildOptions options{.in = ends[0], .out = nowhere, .err = nowhere, .own_session = true};
  if (start_child({"sh", "-c", "read end; rm -rf -- \"$1\"", "sh", path_}, options, remover_) != 0) remover_ = -1;
  ours_ = ends[1];
  close(ends[0]);
  close(nowhere);
}

const std::string& Scratch::path() {
  if (!path_.empty()) return path_;
  std::error_code why;
  std::string name = (fs::temp_directory_path(why) / "tprof-XXXXXX").string();
  if (why || !mkdtemp(name.data()))
    throw Error(Fault::unreadable,
                name + ": cannot be created, and recordings are converted there: " + strerror(errno));
  path_ = name;
  remove_at_end();
  return path_;
}

void Inputs::add(const std::string& path) {
  std::error_code why;
  if (!fs::exists(path, why))
    throw Error(Fault::unreadable, path + ": " + (why ? why.message() : "there is no such file or directory"));
  std::vector<kineto::MovedTrace> converted;
  bool directory = fs::is_directory(path, why);
  std::vector<std::string> recordings = directory ? recordings_below(path) : std::vector<std::string>();
  if (!directory && is_recording_name(path)) recordings.push_back(path);
  for (const std::string& recording : recordings) try {
      std::string into = convert(recording, !directory);
      std::string home = fs::path(recording).parent_path().string();
      for (const std::string& trace : list_files(into, is_trace_name)) converted.push_back({home, trace});
    } catch (const Error& e) {
      if (!directory) throw;
      complain(e.what());
      partial_ = true;
    }
  size_t before = all_.size();
  if (directory || recordings.empty()) {
    kineto::TraceList list = kineto::list_traces(path, converted);
    for (const std::string& note : list.notes) {
      complain(note);
      partial_ = true;
    }
    say_skipped(path, list.skipped);
    for (const Input& input : list.files)
      if (!directory || input.plugin_takes || rules_ != RuleSet::plugin) all_.push_back(input);
  } else {
    for (const kineto::MovedTrace& trace : converted) {
      fs::path home = fs::weakly_canonical(trace.directory.empty() ? "." : trace.directory, why);
      Input input{home.filename().string(), "", "", trace.path, true, home.string()};
      kineto::split_trace_name(fs::path(trace.path).filename().string(), input.worker, input.span);
      input.span = std::to_string(all_.size() - before + 1);
      all_.push_back(input);
    }
  }
  if (all_.size() != before) return;
  std::string names = rules_ == RuleSet::plugin ? "*.pt.trace.json[.gz]" : "*.json[.gz]";
  throw Error(Fault::unreadable, path + ": holds no trace (" + names + ") and no recording (*.tprof)");
}

// Converts a recording into a new directory, which is returned.
std::string Inputs::convert(const std::string& path, bool named) {
  Progress progress("reading " + fs::path(path).filename().string(), Progress::Counts::written);
  std::string into = scratch_.path() + "/" + std::to_string(converted_++);
  fs::create_directory(into);
  for (u64 begin : recordings_in(path)) convert_into(into, path, begin, named);
  return into;
}

void Inputs::convert_into(const std::string& into, const std::string& path, u64 begin, bool named) {
  std::unique_ptr<Recording> recording = Recording::open(path, begin);
  const FileHeader& header = recording->header();
  if (header.role == static_cast<u32>(Role::helper) && !named) return;
  if (!named && has_finisher(path)) {
    if (!header.closed && recording->writer_alive()) {
      complain(path + ": its windows are being written; those without a trace are left out");
      partial_ = true;
      return;
    }
    wait_for_finisher(path);
    if (access(path.c_str(), F_OK) != 0) return;  // all is written, and the recording was removed
    recording->refresh();
  }
  ConvertOptions options = options_of(recording->read_meta());
  options.begin = begin;
  options.use_gzip = false;
  options.out_dir = into;
  options.known_in = named ? "" : fs::path(path).parent_path().string();
  options.only_sealed = !header.closed && recording->writer_alive();
  ConvertResult result = convert_recording(path, options);
  if (options.only_sealed) complain(path + ": its program is running; only finished windows are read");
  if (result.damaged) complain(path + ": is damaged; what could be read is analysed");
  partial_ |= result.damaged || options.only_sealed;
}

int Inputs::each(bool plugin, const Use& use) {
  std::vector<Input> readable;
  std::vector<std::string> paths;
  for (const Input& input : all_) paths.push_back(input.path);
  std::vector<SpanTime> spans;
  Progress progress("reading", Progress::Counts::read, size_of(paths));
  ReadAhead ahead(paths, plugin, ahead_);
  for (const Input& input : all_) try {
      progress.say("reading " + fs::path(input.path).filename().string());
      std::unique_ptr<ReadTrace> trace = ahead.next();
      progress.say("analysing " + fs::path(input.path).filename().string());
      const Model& model = trace->model;
      u64 begin = model.begin_realtime_ns();
      spans.push_back({input.run, input.worker, input.span, begin, begin + u64(model.end_ns - model.begin_ns)});
      use(input, model, trace->plugin);
      readable.push_back(input);
    } catch (const Error& e) {
      std::string why = e.what();
      complain(why.starts_with(input.path) ? why : input.path + ": " + why);
      partial_ = true;
    }
  if (!std::exchange(nested_said_, true))
    for (const std::string& line : nested_spans(spans)) complain(line);
  all_ = std::move(readable);
  return all_.empty() ? kExitUnreadable : partial_ ? kExitPartial : kExitOk;
}

}  // namespace tprof
