#include "run/patience.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "command.h"
#include "input/trace_file.h"
#include "kineto/write/output.h"

namespace tprof {
namespace {

constexpr double kSecond = 1e9;
constexpr double kSilentNs = 2 * kSecond, kProgressNs = 0.5 * kSecond;
// Where a line cannot be rewritten: when the first one comes. Each further one comes after twice as long, so that a log
// stays short.
constexpr double kFirstLineNs = 10 * kSecond;
constexpr double kForever = std::numeric_limits<double>::infinity();

double now_ns() { return static_cast<double>(clock_ns(CLOCK_MONOTONIC)); }

// The initial PID namespace of a machine has this inode number (PROC_PID_INIT_INO in the kernel's proc_ns.h).
bool in_container() {
  struct stat s;
  return stat("/proc/self/ns/pid", &s) == 0 && s.st_ino != 0xEFFFFFFCu;
}

// Why processes that this one leaves in the background would be killed when it ends; "" if they would not be.
std::string why_to_stay() {
  if (getpid() == 1) return "process 1, and everything here ends with it";
  for (const char* name : {"SLURM_STEP_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"})
    if (getenv(name))
      return std::string("a job step (") + name + " is set), and everything that it started ends with it";
  // A container that was started for this command ends with it; one with an interactive shell does not.
  if (in_container() && !getenv("TPROF_EXIT_WAIT") && !isatty(2))
    return "a container, which may end with this command; --exit-wait SECONDS ends the wait sooner";
  return "";
}

}  // namespace

Patience::Patience(double exit_wait, Supervisor& supervisor, const std::string& directory, bool quiet, bool page)
    : supervisor_(supervisor),
      directory_(directory),
      why_(why_to_stay()),
      quiet_(quiet),
      logs_(page && !quiet && !isatty(2)),
      start_ns_(now_ns()),
      next_line_ns_(kFirstLineNs) {
  end_ns_ = why_.empty() && !page ? start_ns_ + exit_wait * kSecond : kForever;
}

bool Patience::wait(const std::function<bool()>& done, double until_ns, const std::function<void(double)>& meanwhile) {
  while (!done()) {
    double now = now_ns();
    if (supervisor_.interrupted() || now >= until_ns) return false;
    meanwhile(now - start_ns_);
    usleep(static_cast<unsigned>(std::clamp((until_ns - now) / 1e3, 1e3, 20e3)));
  }
  return true;
}

bool Patience::for_traces(const std::function<bool()>& done) {
  bool terminal = !quiet_ && isatty(2);
  bool is_done = wait(done, end_ns_, [&](double waited_ns) {
    if (quiet_ || waited_ns < kSilentNs) return;
    say_why();
    if (terminal) show_progress(waited_ns);
    log("writing the last trace", waited_ns);
  });
  if (shown_ns_ > 0) fputs("\r\033[K", stderr);
  return is_done;
}

bool Patience::for_last_word(const std::function<bool()>& done, const std::function<std::string()>& doing) {
  return wait(done, kForever, [&](double waited_ns) { log(doing(), waited_ns); });
}

void Patience::log(const std::string& doing, double waited_ns) {
  if (!logs_ || waited_ns < next_line_ns_) return;
  next_line_ns_ = 2 * waited_ns;
  complain(doing + ", " + std::to_string(lround(waited_ns / kSecond)) + " s since the program has ended");
}

void Patience::say_why() {
  if (said_why_ || why_.empty()) return;
  said_why_ = true;
  complain("waiting until the last trace is written, since this is " + why_);
}

void Patience::show_progress(double waited_ns) {
  if (waited_ns - shown_ns_ < kProgressNs) return;
  shown_ns_ = waited_ns;
  double bytes = 0;
  struct stat s;
  for (const std::string& path : list_files(directory_, kineto::is_unfinished_name))
    if (stat(path.c_str(), &s) == 0) bytes += static_cast<double>(s.st_size);
  fprintf(stderr, "\rtprof: writing the last trace: %.1f MB, %.0f s (Ctrl-C: do not wait)\033[K", bytes / 1e6,
          waited_ns / kSecond);
}

}  // namespace tprof
