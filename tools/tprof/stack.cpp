// `tprof stack`: the stacks of all threads of running programs, or of one that has dumped core, as text or as JSON
// (schema 1: keys are only ever added).
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/process.h"
#include "command.h"
#include "exit_codes.h"
#include "input/trace_file.h"
#include "record/reader.h"
#include "remote/process.h"
#include "report/fit.h"
#include "report/table.h"
#include "stack/stacks.h"

namespace tprof {
namespace {

using Json = nlohmann::ordered_json;

struct StackArguments {
  std::vector<std::string> subjects;
  std::string core, frames, depth;
  bool json = false;
};

constexpr size_t kDefaultDepth = 40;  // frames that are shown of a thread

// Adds the processes that these have started, and so on: ranks, data-loader workers, whatever else belongs to the run.
void add_descendants(std::vector<int>& pids) {
  std::multimap<int, int> children;
  std::error_code ignored;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    int pid = atoi(entry.path().filename().c_str());
    if (pid <= 0 || std::filesystem::read_symlink(entry.path() / "exe", ignored) == self) continue;  // our finisher
    if (int parent = atoi(remote::status_field(pid, "PPid").c_str())) children.emplace(parent, pid);
  }
  std::set<int> known(pids.begin(), pids.end());
  for (size_t i = 0; i < pids.size(); i++) {
    auto [from, to] = children.equal_range(pids[i]);
    for (auto child = from; child != to; ++child)
      if (known.insert(child->second).second) pids.push_back(child->second);
  }
  std::sort(pids.begin(), pids.end());
}

std::vector<int> programs_of(const std::string& directory) {
  std::vector<int> out;
  size_t recordings = 0;
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      recordings++;
      std::unique_ptr<Recording> recording = Recording::open(path);
      const FileHeader& header = recording->header();
      ProcessIdentity now = process_identity(int(header.pid));
      if (now.start_time && now.start_time == header.process_start && !strcmp(now.boot_id, header.boot_id))
        out.push_back(int(header.pid));
    } catch (const Error&) {
      continue;  // `tprof info` says what is wrong with it
    }
  add_descendants(out);
  if (!recordings) throw Error(Fault::unreadable, directory + ": holds no recording of a running program (*.tprof)");
  if (out.empty()) throw Error(Fault::unreadable, directory + ": none of its programs is running on this machine");
  return out;
}

std::vector<int> pids_of(const std::string& subject) {
  if (!subject.empty() && subject.find_first_not_of("0123456789") == std::string::npos && subject.size() < 10)
    return {atoi(subject.c_str())};
  std::error_code ignored;
  if (std::filesystem::is_directory(subject, ignored)) return programs_of(subject);
  throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory (a core file: --core FILE)");
}

const char* plural(size_t n, const char* one, const char* more) { return n == 1 ? one : more; }

// --- text

std::string place_of(const ThreadFrame& frame) {
  if (frame.file.empty()) return "";
  std::string file = printable(frame.file);
  return frame.line ? file + ":" + std::to_string(frame.line) : file;
}

std::string function_of(const ThreadFrame& frame) {
  if (!frame.function.empty()) return printable(frame.function);
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(frame.offset));
  return text;
}

std::string state_of(const ThreadStack& t) {
  std::string out = t.runs ? "runs" : t.waits.empty() ? "waits" : "waits " + t.waits;
  if (t.waits.starts_with("in ") && !t.runs) out = "is " + t.waits;
  if (t.died) out = "got the signal";
  if (t.owner) out += " that thread " + std::to_string(t.owner) + " holds";
  if (t.gil) out += ", holds the GIL";
  return out;
}

// What two threads must share to be shown as one.
std::string key_of(const ThreadStack& t) {
  std::string key = state_of(t) + "\n" + t.incomplete + (t.main ? "\nmain" : "");
  for (const ThreadFrame& f : t.frames) key += "\n" + function_of(f) + "\t" + place_of(f);
  return key;
}

std::string title_of(const std::vector<const ThreadStack*>& group) {
  const ThreadStack& t = *group[0];
  std::string out;
  if (group.size() == 1) {
    out = "Thread " + std::to_string(t.tid) + (t.main ? " (main)" : "");
  } else {
    constexpr size_t kMaxNamed = 8;
    out = std::to_string(group.size()) + " threads:";
    for (size_t i = 0; i < group.size() && i < kMaxNamed; i++) out += " " + std::to_string(group[i]->tid);
    if (group.size() > kMaxNamed) out += " ...";
  }
  bool same = std::all_of(group.begin(), group.end(), [&](const ThreadStack* g) { return g->name == t.name; });
  if (same && !t.name.empty()) out += " \"" + printable(t.name) + "\"";
  return out + "  " + state_of(t);
}

// A frame as it is shown: of a recursion, equal frames in a row are one.
struct Shown {
  bool python;
  std::string function, place;
  size_t times;
};

std::vector<Shown> shown_frames(const ThreadStack& t) {
  std::vector<Shown> out;
  for (const ThreadFrame& f : t.frames) {
    Shown next{f.python, function_of(f), place_of(f), 1};
    if (!out.empty() && out.back().function == next.function && out.back().place == next.place)
      out.back().times++;
    else
      out.push_back(std::move(next));
  }
  return out;
}

// The innermost and outermost frames, if there are more than `depth`; 0: all.
std::string frames_text(const ThreadStack& t, size_t depth, const TextStyle& style) {
  std::vector<Shown> frames = shown_frames(t);
  size_t count = frames.size(), outer = depth && count > depth ? depth / 4 : 0, inner = outer ? depth - outer : count;
  size_t width = style.width > 0 ? size_t(style.width) : 0, column = 0;
  for (size_t i = 0; i < count; i++)
    if (i < inner || i >= count - outer) column = std::max(column, width_of(frames[i].function));
  if (width) column = std::min(column, std::max<size_t>(20, width * 2 / 5));
  std::string out;
  for (size_t i = 0; i < count; i++) {
    if (i == inner && outer) {
      out += "      ... " + std::to_string(count - inner - outer) + " more frames; --depth 0 shows all\n";
      i = count - outer;
    }
    const Shown& f = frames[i];
    std::string line = (f.python ? "   py " : "      ") + cut(f.function, column, style.utf8, Unit::function);
    std::string times = f.times > 1 ? "  x " + std::to_string(f.times) : "";
    if (!f.place.empty()) {
      size_t taken = column + 8 + times.size(), room = width > taken ? width - taken : 0;
      line += std::string(column + 8 - width_of(line), ' ');
      line += width ? cut(f.place, std::max<size_t>(room, 16), style.utf8, Unit::function) : f.place;
    }
    out += line + times + "\n";
  }
  if (!t.incomplete.empty()) out += "      (incomplete: " + t.incomplete + ")\n";
  return out;
}

std::string program_text(const ProgramStacks& p, size_t depth, const TextStyle& style) {
  std::string out = "Process " + std::to_string(p.pid) + ": " + printable(p.command) + "\n";
  size_t threads = p.threads.size(), runs = 0;
  for (const ThreadStack& t : p.threads) runs += t.runs;
  out += "  " + std::to_string(threads) + plural(threads, " thread", " threads");
  if (p.signal)
    out += ", ended by signal " + std::to_string(p.signal) + " (" + strsignal(p.signal) + ")";
  else if (p.stopped)
    out += ", stopped by a signal";
  else if (!p.stops_ns.empty() || runs)
    out += ", " + std::to_string(runs) + " running";
  if (!p.python.empty()) out += ", Python " + p.python;
  if (!p.stops_ns.empty()) {
    u64 longest = *std::max_element(p.stops_ns.begin(), p.stops_ns.end());
    out += "; each was stopped for at most " + time_text(i64(longest));
  }
  out += "\n";
  if (!p.why_not.empty()) out += "  no Python frames: " + p.why_not + "\n";
  for (const std::vector<int>& cycle : p.cycles) {
    out += "  DEADLOCK:";
    for (int tid : cycle) out += " thread " + std::to_string(tid) + " waits for";
    out += " thread " + std::to_string(cycle[0]) + "\n";
  }
  std::vector<std::vector<const ThreadStack*>> groups;
  std::map<std::string, size_t> known;
  for (const ThreadStack& t : p.threads) {
    auto [at, added] = known.try_emplace(key_of(t), groups.size());
    if (added) groups.emplace_back();
    groups[at->second].push_back(&t);
  }
  for (const auto& group : groups) out += "\n" + title_of(group) + "\n" + frames_text(*group[0], depth, style);
  return out;
}

// --- JSON

Json program_json(const ProgramStacks& p) {
  Json out = {{"pid", p.pid}, {"command", p.command}};
  if (!p.python.empty()) out["python"] = p.python;
  if (!p.why_not.empty()) out["no_python_frames"] = p.why_not;
  if (p.signal) out["signal"] = p.signal;
  if (p.stopped) out["stopped"] = true;
  out["deadlocks"] = p.cycles;
  out["threads"] = Json::array();
  for (const ThreadStack& t : p.threads) {
    Json one = {{"tid", t.tid}, {"name", t.name}, {"main", t.main}, {"runs", t.runs}, {"holds_gil", t.gil}};
    if (t.died) one["got_signal"] = true;
    if (!t.waits.empty()) one["waits"] = t.waits;
    if (t.owner) one["mutex_held_by"] = t.owner;
    if (!t.incomplete.empty()) one["incomplete"] = t.incomplete;
    one["frames"] = Json::array();
    for (const ThreadFrame& f : t.frames) {
      Json frame = {{"kind", f.python ? "python" : "native"}, {"function", f.function}, {"file", f.file}};
      if (f.line) frame["line"] = f.line;
      if (!f.python) frame["offset"] = f.offset;
      one["frames"].push_back(std::move(frame));
    }
    out["threads"].push_back(std::move(one));
  }
  out["stopped_us"] = Json::array();
  for (u64 ns : p.stops_ns) out["stopped_us"].push_back(double(ns) / 1e3);
  return out;
}

Frames frames_of(const std::string& word) {
  if (word.empty() || word == "all") return Frames::all;
  if (word == "python") return Frames::python;
  if (word == "native") return Frames::native;
  throw Error(Fault::usage, "--frames '" + word + "' is not all, python or native");
}

int stack(const StackArguments& arguments) {
  Frames frames = frames_of(arguments.frames);
  size_t depth = arguments.depth.empty() ? kDefaultDepth : number_of("--depth", arguments.depth);
  if (arguments.core.empty() == arguments.subjects.empty())
    throw Error(Fault::usage, "name a process id, a log directory, or --core FILE");
  signal(SIGPIPE, SIG_IGN);  // tprof-stack may end before us
  std::vector<int> pids;
  for (const std::string& subject : arguments.subjects)
    for (int pid : pids_of(subject)) pids.push_back(pid);
  Json document = {{"schema", 1}, {"processes", Json::array()}};
  TextStyle style = text_style(stdout);
  size_t shown = 0, failed = 0;
  auto show = [&](auto take) {
    try {
      ProgramStacks stacks = take();
      if (arguments.json)
        document["processes"].push_back(program_json(stacks));
      else
        print(stdout, (shown ? "\n" : "") + program_text(stacks, depth, style), style.color);
      shown++;
    } catch (const Error& e) {
      complain(e.what());
      failed++;
    }
  };
  if (!arguments.core.empty()) show([&] { return stacks_of_core(arguments.core, frames); });
  for (int pid : pids) show([&] { return stacks_of_process(pid, frames); });
  if (arguments.json && shown) print(stdout, json_indented(document) + "\n");
  return !failed ? kExitOk : shown ? kExitPartial : kExitUnreadable;
}

}  // namespace

Action declare_stack(Arguments& arguments) {
  auto a = std::make_shared<StackArguments>();
  arguments.value("--core", "", "FILE", "read a core file instead of a running program", a->core);
  arguments.choice("--frames", "all|python|native",
                   "which frames to show (default all); with python, no thread is stopped", {"all", "python", "native"},
                   a->frames);
  arguments.value("--depth", "", "N", "frames to show of a thread, 0 for all (default 40)", a->depth);
  arguments.toggle("--json", "", "print JSON (schema 1: keys are only ever added)", a->json);
  arguments.operands("PID|LOGDIR", "processes, or log directories of runs: all of their programs that still run", 0, 0,
                     a->subjects);
  return [a] { return stack(*a); };
}

}  // namespace tprof
