#include "run/complete.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/process.h"
#include "exit_codes.h"
#include "finish/finisher_lock.h"
#include "input/trace_file.h"
#include "record/empty.h"
#include "record/reader.h"
#include "run/program_file.h"

namespace tprof {
namespace {

bool same_machine(const FileHeader& header) { return !strcmp(process_identity(getpid()).boot_id, header.boot_id); }

// Counts the steps of a program that reached no window. Its recording holds the last of them only.
void count_unrecorded(const StepInfo& last, Counted& out) {
  bool settled = (last.flags & kStepHasWork) && !(last.flags & kStepWithdrawn);  // else it ended the step before
  u64 steps = static_cast<u64>(std::max<i64>(last.number, 0)) + settled;
  if (steps <= out.steps) return;
  out.by = last.by;
  out.steps = steps;
  out.guessed = last.flags & kStepGuessed;
}

// The recordings whose program has ended and whose traces are not all written. In a shared directory those of other
// machines are left to them; recordings of helper processes are left to `tprof convert --workers`.
std::vector<std::string> left_to_finish(const std::string& directory, Completion& out) {
  std::vector<std::string> left;
  for (const std::string& path : list_files(directory, is_recording_name)) try {
      std::unique_ptr<Recording> recording = Recording::open(path);
      const FileHeader& header = recording->header();
      if (!same_machine(header) || header.role == static_cast<u32>(Role::helper)) continue;
      out.any = true;
      if (header.closed == kClosedFinished) continue;
      if (!header.closed && recording->writer_alive()) {
        out.running++;
        continue;
      }
      left.push_back(path);
      Meta meta = recording->read_meta();
      bool reached =
          std::any_of(meta.windows.begin(), meta.windows.end(), [](const WindowInfo& w) { return w.is_recorded(); });
      if (!reached && !meta.steps.empty()) count_unrecorded(meta.steps.back(), out.unrecorded);
    } catch (const Error& e) {
      if (access(path.c_str(), F_OK) == 0 && out.note.empty()) out.note = e.what();
    }
  return left;
}

// The child survives this process, and it closes the standard descriptors so that no reader of a pipe waits for it.
int finish_in_background(const std::vector<std::string>& paths, const Supervisor& supervisor) {
  std::string self = own_path();
  std::vector<const char*> argv = {"tprof", "finish", "--after"};
  for (const std::string& path : paths) argv.push_back(path.c_str());
  argv.push_back(nullptr);
  int child = fork();
  if (child != 0) return child;
  setsid();
  supervisor.restore();
  int null = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) dup2(null, fd);
  execv(self.c_str(), const_cast<char**>(argv.data()));
  _exit(kExitUnreadable);
}

}  // namespace

Completion complete_recordings(const std::string& directory, Patience& patience) {
  Completion out;
  std::vector<std::string> left = left_to_finish(directory, out);
  if (left.empty()) return out;
  int background = finish_in_background(left, patience.supervisor());
  bool done = background > 0 && patience.for_traces([&] { return waitpid(background, nullptr, WNOHANG) != 0; });
  for (const std::string& path : left) {
    u32 closed = how_closed(path);
    if (closed == kClosedEmpty) remove_empty(path.c_str());
    if (closed >= kClosedFinished) continue;
    out.unfinished++;
    if (done && out.note.empty()) out.note = path + " could not be converted; tprof convert reports why";
  }
  return out;
}

}  // namespace tprof
