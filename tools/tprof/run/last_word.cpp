#include "run/last_word.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/job.h"
#include "command.h"
#include "exit_codes.h"
#include "report.h"
#include "run/summary.h"

namespace tprof {
namespace {

void too_large(const std::string& directory) {
  complain("the traces are too large for a summary here; tprof overview " + directory + " shows where the time went");
}

// What this tprof-run has to say of the traces in its directory. Where a launcher starts one for each rank, that of
// rank 0 says all, and one on each other machine names the directory.
enum class Part { all, line, nothing };
Part part_to_say() {
  JobPlace place = place_in_job([](const char* name) { return getenv(name); });
  if (place.rank <= 0) return Part::all;
  return place.local_rank <= 0 ? Part::line : Part::nothing;
}

const char* hint(const Deaths& deaths) {
  return deaths.fault ? ". If it does not happen without tprof, try --activities cpu and tprof doctor" : "";
}

// What went before anything else: without it, the rest would read as if all were well.
void say_deaths(const Deaths& deaths) {
  if (!deaths.text.empty()) complain(deaths.text + "; what follows is until then" + hint(deaths));
}

// Writes a byte to the pipe `said` once the closing line is printed.
void say(const Run& run, const Completion& completion, const std::vector<NewTrace>& written, int said) {
  std::string line =
      closing_line(run.directory, written, completion, run.options) + workers_clause(run.directory, run.before);
  bool silent = line.starts_with("nothing was recorded") && run.unloadable;
  if (line.empty() || silent) return;
  Part part = written.empty() ? Part::all : part_to_say();
  Deaths deaths = deaths_of(written, completion.status);
  if (written.empty()) {
    if (!deaths.text.empty()) line = deaths.text + "; " + line + hint(deaths);
  } else if (part != Part::nothing || deaths.fault) {
    say_deaths(deaths);
  }
  if (part != Part::nothing) complain(line);
  (void)!write(said, "", 1);
  if (part != Part::all) return;
  std::string rest = rest_line(run.directory, run.before);
  if (!rest.empty()) complain(rest);
  std::string hangs = hangs_line(run.directory, run.before);
  if (!hangs.empty()) complain(hangs);
  if (!show_summary(run.directory, written)) too_large(run.directory);
}

void compose(const Run& run, Completion completion, int said) {
  std::vector<NewTrace> written = new_traces(run.directory, run.before, completion);
  if (!run.quiet) say(run, completion, written, said);
  if (!run.report || written.empty() || part_to_say() != Part::all) return;
  std::string line = write_report(run.directory, run.directory + "/report.html");
  if (!run.quiet) complain(line);
}

}  // namespace

void say_last_word(const Run& run, const Completion& completion, Patience& patience) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  int child = fork();
  if (child == 0) {
    patience.supervisor().restore();
    try {
      compose(run, completion, ends[1]);
    } catch (const std::exception& e) {
      complain(e.what());
    }
    _exit(kExitOk);
  }
  if (child > 0 && !patience.for_last_word([&] { return waitpid(child, nullptr, WNOHANG) != 0; })) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    char byte;
    bool said = read(ends[0], &byte, 1) == 1;
    if (!said && !run.quiet) {
      say_deaths(deaths_of({}, completion.status));
      complain(short_line(run.directory, run.before, completion));
    }
    if (run.report)
      complain("there was no time left to write the page; tprof report " + run.directory + " writes it");
    else if (said && !patience.interrupted())
      too_large(run.directory);
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace tprof
