// `tprof stack`: the stacks of all threads of running programs, or of one that has dumped core, as text or as JSON
// (schema 1: keys are only ever added).
#include <signal.h>
#include <stdio.h>

#include <filesystem>

#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "exit_codes.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "json/json.h"
#include "live/process_here.h"
#include "record/reader.h"
#include "report/table.h"
#include "stack/text.h"

namespace tprof {
namespace {

struct StackArguments {
  std::vector<std::string> subjects;
  std::string core, frames, depth;
  bool json = false;
};

std::vector<int> programs_of(const std::string& directory) {
  std::vector<int> out;
  size_t recordings = 0;
  live::ProcessesHere processes;
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      recordings++;
      if (int pid = processes.writer_of(Recording::open(path)->header()).pid) out.push_back(pid);
    } catch (const Error&) {
      continue;  // `tprof info` says what is wrong with it
    }
  out = with_descendants(out);
  if (!recordings) throw Error(Fault::unreadable, directory + ": holds no recording of a running program (*.tprof)");
  if (out.empty()) throw Error(Fault::unreadable, directory + ": none of its programs is running on this machine");
  return out;
}

std::vector<int> pids_of(const std::string& subject) {
  if (int pid = pid_in(subject)) return {pid};
  std::error_code ignored;
  if (std::filesystem::is_directory(subject, ignored)) return programs_of(subject);
  throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory (a core file: --core FILE)");
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
        document["processes"].push_back(json_of(stacks));
      else
        print(stdout, (shown ? "\n" : "") + text_of(stacks, depth, style), style.color);
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
