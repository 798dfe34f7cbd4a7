// `tprof trigger`: asks running programs for a trace, by a file beside their recordings (record/trigger_file.h).
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file_modes.h"
#include "base/printable.h"
#include "base/process.h"
#include "command.h"
#include "exit_codes.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "live/process_here.h"
#include "record/reader.h"
#include "record/trigger_file.h"
#include "remote/process.h"

namespace tprof {
namespace {

constexpr int kPatience_ms = 2000;  // a program looks every 50 ms

// The recordings that a process has mapped: its own, and for a helper also that of its leader.
std::vector<std::string> recordings_of_process(int pid) {
  std::vector<remote::Mapping> mappings = remote::mappings_of(pid);
  if (mappings.empty())
    throw Error(Fault::unreadable,
                "process " + std::to_string(pid) + ": " +
                    (process_identity(pid).start_time ? remote::refusal(pid) : "there is no such process"));
  std::set<std::string> paths;
  for (const remote::Mapping& mapping : mappings)
    if (is_recording_name(mapping.path)) paths.insert(remote::path_here(pid, mapping));
  return {paths.begin(), paths.end()};
}

std::vector<std::string> recordings_of(const std::string& subject) {
  if (int pid = pid_in(subject)) return recordings_of_process(pid);
  std::error_code ignored;
  if (std::filesystem::is_directory(subject, ignored)) return list_files(subject, is_recording_name);
  throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory");
}

// Writes the request under a name of its own and then gives it the one that the program looks for.
void put_request(const std::string& path, long long steps) {
  std::string own = path + "." + std::to_string(getpid());
  int fd = open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateMode);
  bool good = fd >= 0 && dprintf(fd, kTriggerLine, steps) > 0;
  int error = errno;
  if (fd >= 0) close(fd);
  if (good && rename(own.c_str(), path.c_str()) == 0) return;
  if (good) error = errno;
  if (fd >= 0) unlink(own.c_str());
  throw Error(Fault::unreadable, path + ": cannot be written: " + strerror(error));
}

// Asks one program. `pid`: as this machine numbers it. Throws Error if it cannot be asked, or does not answer.
void ask(const Recording& recording, const Meta& meta, int pid, long long steps) {
  std::string who = "process " + std::to_string(pid);
  if (!meta.is_flight() && meta.option("trigger").empty())
    throw Error(Fault::usage, who + " does not listen; start it with --mode flight or --trigger file");
  struct stat process;
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &process) == 0 && process.st_uid != geteuid())
    throw Error(Fault::usage, who + " belongs to another user, whose requests alone it takes; ask as that user");
  std::string path = recording.path() + kTriggerSuffix;
  u32 refused = recording.header().refused_triggers;
  put_request(path, steps);
  for (int waited = 0; access(path.c_str(), F_OK) == 0; waited += 10) {
    if (waited > kPatience_ms) {
      unlink(path.c_str());
      throw Error(Fault::unreadable, who + " did not take the request within 2 s; is it stopped?");
    }
    usleep(10'000);
  }
  usleep(100'000);  // the program counts what it leaves out once it has taken the request
  if (Recording::open(recording.path())->header().refused_triggers != refused)
    throw Error(Fault::unreadable, who +
                                       " left this trigger out: the last one was less than a second ago, or its "
                                       "trace is still being written");
  print(stdout, "asked " + who + " for a trace\n");
}

int trigger(const std::vector<std::string>& subjects, long long steps) {
  size_t asked = 0, failed = 0;
  live::ProcessesHere processes;
  for (const std::string& subject : subjects) try {
      size_t programs = 0;
      for (const std::string& path : recordings_of(subject)) try {
          std::unique_ptr<Recording> recording = Recording::open(path);
          const FileHeader& h = recording->header();
          if (h.role != u32(Role::program) || h.closed) continue;
          int pid = processes.writer_of(h).pid, wanted = pid_in(subject);
          if (!pid || (wanted && pid != wanted)) continue;
          programs++;
          ask(*recording, recording->read_meta(), pid, steps);
          asked++;
        } catch (const Error& e) {
          complain(e.what());
          failed++;
        }
      if (!programs)
        throw Error(Fault::unreadable, pid_in(subject)
                                           ? "process " + subject +
                                                 " has no recording; it listens from its start on "
                                                 "only with --mode flight or --trigger"
                                           : subject + ": holds no recording of a running program (*.tprof)");
    } catch (const Error& e) {
      if (e.fault == Fault::usage) throw;
      complain(e.what());
      failed++;
    }
  return !failed ? kExitOk : asked ? kExitPartial : kExitUnreadable;
}

}  // namespace

Action declare_trigger(Arguments& arguments) {
  auto subjects = std::make_shared<std::vector<std::string>>();
  auto steps = std::make_shared<std::string>();
  arguments.value("--steps", "", "N",
                  "in flight mode: only the last N steps; with a schedule: the next N (default: as many as its windows "
                  "have)",
                  *steps);
  arguments.operands("PID|LOGDIR", "processes, or log directories of runs: all of their programs that still run", 1, 0,
                     *subjects);
  return [subjects, steps]() -> int {
    long long count = 0;
    if (!steps->empty()) {
      count = number_of("--steps", *steps);
      if (count < 1 || count > kMaxTriggerSteps)
        throw Error(Fault::usage,
                    "--steps '" + *steps + "' is not a whole number from 1 to " + std::to_string(kMaxTriggerSteps));
    }
    return trigger(*subjects, count);
  };
}

}  // namespace tprof
