// `tprof convert`: writes the traces that recordings still hold, and reports what it leaves out and why.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/options.h"
#include "base/printable.h"
#include "base/process.h"
#include "cli/options_cli.h"
#include "cli/progress.h"
#include "command.h"
#include "convert/convert.h"
#include "exit_codes.h"
#include "finish/finisher_lock.h"
#include "input/facts.h"
#include "input/trace_file.h"
#include "record/reader.h"

namespace tprof {
namespace {

struct ConvertArguments {
  std::vector<std::string> paths;
  std::string steps, out, on_trace_ready;
  bool workers = false, force = false;
};

struct Totals {
  u64 traces = 0, events = 0, dropped = 0, existed = 0, converted = 0;
  bool partial = false;
  bool command_left = false;  // a program was given --on-trace-ready, which is not run here
};

std::string parent_of(const std::string& path) {
  return std::filesystem::path(absolute_path(path)).parent_path().string();
}

// Whether a program may still write into a recording; `elsewhere`: perhaps on another machine.
enum class Writer { ended, running, elsewhere };

Writer writer_of(const Recording& recording) {
  const FileHeader& h = recording.header();
  if (h.closed) return Writer::ended;
  if (recording.writer_alive()) return Writer::running;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  bool other = strcmp(process_identity(getpid()).boot_id, h.boot_id) && strncmp(host, h.host, sizeof h.host - 1);
  return other ? Writer::elsewhere : Writer::ended;
}

// Converts the recording at the offset `begin` of a file. `named`: the user gave the file itself, and not its
// directory.
void convert_one(const std::string& path, u64 begin, bool named, const ConvertArguments& arguments, Totals& totals) {
  std::unique_ptr<Recording> recording = Recording::open(path, begin);
  bool helper = recording->header().role == static_cast<u32>(Role::helper);
  if (helper && !named && !arguments.workers) return;
  Writer writer = writer_of(*recording);
  if (has_finisher(path) && (arguments.out.empty() || writer != Writer::running)) {
    if (writer == Writer::running) {
      complain(path + ": its program is running and its finished windows are being written; it is left alone");
      totals.partial = true;
      return;
    }
    wait_for_finisher(path);
    if (access(path.c_str(), F_OK) != 0) {  // all is written, and the recording was removed
      if (arguments.out.empty()) return;
      complain(path + ": has just been written into its own directory and removed; its traces are there");
      totals.partial = true;
      return;
    }
    recording->refresh();
  }
  Meta meta = recording->read_meta();
  ConvertOptions options = options_of(meta);
  options.begin = begin;
  options.on_trace_ready = arguments.on_trace_ready;
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.force = arguments.force;
  options.on_written = try_to_write_facts;
  options.out_dir = !arguments.out.empty() ? arguments.out : helper ? parent_of(path) + "_workers" : "";
  if (!arguments.steps.empty()) {
    Schedule s;
    OptionError error;
    if (!parse_steps(arguments.steps.c_str(), s, error))
      throw Error(Fault::usage, std::string("--steps: ") + error.text);
    options.first_step = s.skip_first + s.warmup;
    options.end_step = options.first_step + s.active;
  }
  if (writer == Writer::running || (writer == Writer::elsewhere && !named)) {
    options.only_sealed = true;
    totals.partial = true;
    complain(path + (writer == Writer::running
                         ? ": its program is running; only finished windows are written"
                         : ": comes from " + std::string(recording->header().host) +
                               " and may still be written there; only finished windows are written (name the file "
                               "itself if its program has ended)"));
  }
  if (!options.out_dir.empty()) {
    std::error_code why;
    std::filesystem::create_directories(options.out_dir, why);
    if (why)
      throw Error(Fault::usage, options.out_dir + ": cannot be created: " + why.message() + "; give another --output");
  }
  ConvertResult result;
  {
    Progress progress("writing the traces of " + std::filesystem::path(path).filename().string(),
                      Progress::Counts::written);
    result = convert_recording(path, options);
  }
  totals.converted++;
  u64 before = totals.traces;
  for (const WrittenTrace& trace : result.traces) {
    totals.existed += trace.existed;
    if (trace.existed) continue;
    totals.traces++;
    totals.events += trace.events;
    totals.dropped += trace.dropped;
    print(stdout, trace.path + "\n");
  }
  auto command = meta.info.find("option.on_trace_ready");
  totals.command_left |= totals.traces > before && options.on_trace_ready.empty() && command != meta.info.end() &&
                         !command->second.empty();
  totals.partial |= result.damaged;
  if (!result.note.empty())
    complain(path + ": " + result.note);
  else if (result.damaged)
    complain(path + ": is damaged; what could be read is written, and the ledger of the trace says what is lost");
}

int convert(const ConvertArguments& arguments) {
  Totals totals;
  int failed = kExitOk;
  size_t failures = 0;
  auto attempt = [&](const std::string& path, bool named) {
    try {
      for (u64 begin : recordings_in(path)) convert_one(path, begin, named, arguments, totals);
    } catch (const Error& e) {
      if (e.fault == Fault::usage) throw;
      bool gone = access(path.c_str(), F_OK) != 0;  // written or folded in the meantime
      if (!named && (gone || is_unbegun(path))) return;
      complain(e.what());
      failed = exit_code(e.fault);
      failures++;
    }
  };
  for (const std::string& path : arguments.paths) {
    if (!is_directory(path)) {
      attempt(path, true);
      continue;
    }
    std::vector<std::string> recordings = list_files(path, is_recording_name);
    if (recordings.empty()) {
      size_t traces = list_files(path, is_trace_name).size();
      if (traces == 0) throw Error(Fault::unreadable, path + ": holds no recording and no trace");
      complain(path + ": holds no recording; there is nothing to convert beside its " + std::to_string(traces) +
               (traces == 1 ? " trace" : " traces"));
    }
    for (const std::string& recording : recordings) attempt(recording, false);
  }
  if (totals.converted)
    complain("wrote " + std::to_string(totals.traces) + (totals.traces == 1 ? " trace (" : " traces (") +
             std::to_string(totals.events) + " events, " + std::to_string(totals.dropped) + " dropped)" +
             (totals.existed ? ", " + std::to_string(totals.existed) + " existed already" : ""));
  if (totals.command_left)
    complain(
        "the --on-trace-ready command of the program is not run, since commands are never taken from files; give it to "
        "tprof convert to run it");
  if (failures && totals.converted == 0) return failed;
  return failures || totals.partial ? kExitPartial : kExitOk;
}

}  // namespace

Action declare_convert(Arguments& arguments) {
  auto a = std::make_shared<ConvertArguments>();
  arguments.value("--steps", "", "A:B", "only steps A to B-1", a->steps);
  arguments.value("--output", "-o", "DIR", "where traces go; default: beside the recording", a->out);
  arguments.toggle("--workers", "",
                   "also convert the recordings of data-loader and other helper processes, to DIR_workers/",
                   a->workers);
  arguments.toggle("--force", "", "write traces again that exist already", a->force);
  arguments.value("--on-trace-ready", "", "COMMAND",
                  "shell command run on each trace written; {} is the file, {step} the step number", a->on_trace_ready);
  arguments.operands("PATH", "recordings or log directories", 1, 0, a->paths);
  return [a] { return convert(*a); };
}

}  // namespace tprof
