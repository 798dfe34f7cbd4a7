#include "run/last_word.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/error.h"
#include "base/job.h"
#include "base/signal_text.h"
#include "cli/progress.h"
#include "command.h"
#include "exit_codes.h"
#include "report.h"
#include "run/summary.h"

namespace tprof {
namespace {

// How far the child is that composes all of this; it writes a byte to its parent as it enters each stage but the first.
enum class LastWord : u8 { closing_line, summary, page };

const char* doing(LastWord stage) {
  switch (stage) {
    case LastWord::closing_line: return "reading what was written";
    case LastWord::summary: return "summing up what was recorded";
    default: return "writing the page";
  }
}

// What the parent knows of the child.
class Child {
 public:
  Child(int pid, int told) : pid_(pid), told_(told) {}

  bool has_ended() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) != 0;
    return ended_;
  }
  void end() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    ended_ = true;
  }
  LastWord stage() {
    char bytes[16];
    for (ssize_t n; (n = read(told_, bytes, sizeof bytes)) > 0;) stage_ += n;
    return static_cast<LastWord>(stage_);
  }
  // The signal that it died of.
  int signal() const { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }

 private:
  const int pid_, told_;
  int status_ = 0;
  ssize_t stage_ = 0;
  bool ended_ = false;
};

std::string page_path(const std::string& directory) { return directory + "/report.html"; }

std::string no_summary(const std::string& directory, const std::string& why) {
  return "there is no summary, since " + why + "; tprof overview " + directory + " shows where the time went";
}

std::string no_page(const std::string& directory, const std::string& why) {
  return "the page was not written, since " + why + "; tprof report " + directory + " -o " + page_path(directory) +
         " writes it";
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

void say_closing_line(const Run& run, const Completion& completion, const Written& written, Part part) {
  std::string line = written.left_out ? short_line(run.directory, run.before, completion)
                                      : closing_line(run.directory, written.traces, completion, run.options) +
                                            workers_clause(run.directory, run.before);
  bool silent = line.starts_with("nothing was recorded") && run.unloadable;
  if (line.empty() || silent) return;
  Deaths deaths = deaths_of(written.traces, completion.status);
  if (written.traces.empty()) {
    if (!deaths.text.empty()) line = deaths.text + "; " + line + hint(deaths);
  } else if (part != Part::nothing || deaths.fault) {
    say_deaths(deaths);
  }
  if (part != Part::nothing) complain(line);
}

void sum_up(const Run& run, const Written& written) {
  std::string rest = rest_line(run.directory, run.before);
  if (!rest.empty()) complain(rest);
  std::string hangs = hangs_line(run.directory, run.before);
  if (!hangs.empty()) complain(hangs);
  if (written.traces.empty()) return;  // the closing line says why
  try {
    show_summary(written);
  } catch (const std::exception& e) {
    complain(no_summary(run.directory, e.what()));
  }
}

void write_page(const Run& run, const Completion& completion, const Written& written) {
  if (written.traces.empty()) {
    if (completion.unfinished) complain(no_page(run.directory, "no trace is complete yet"));
    return;
  }
  try {
    std::string line = write_report(run.directory, page_path(run.directory));
    if (!run.quiet) complain(line);
  } catch (const std::exception& e) {
    complain(no_page(run.directory, e.what()));
  }
}

// `enter` is called with each stage but the first.
void compose(const Run& run, Completion completion, const std::function<void(LastWord)>& enter) {
  Written written = read_written(run.directory, run.before, completion);
  Part part = written.traces.empty() ? Part::all : part_to_say();
  if (!run.quiet) say_closing_line(run, completion, written, part);
  enter(LastWord::summary);
  if (part != Part::all) return;
  if (!run.quiet) sum_up(run, written);
  enter(LastWord::page);
  if (run.report) write_page(run, completion, written);
}

// The child did not come to its end.
void say_what_is_missing(const Run& run, const Completion& completion, LastWord stage, const std::string& why) {
  if (stage == LastWord::closing_line && !run.quiet) {
    say_deaths(deaths_of({}, completion.status));
    complain(short_line(run.directory, run.before, completion));
  }
  if (part_to_say() != Part::all) return;
  if (run.report)
    complain(no_page(run.directory, why));
  else if (stage <= LastWord::summary && !run.quiet)
    complain(no_summary(run.directory, why));
}

std::string why_it_ended(const Child& child, bool interrupted) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) interrupted |= child.signal() == signal;
  if (interrupted) return "tprof-run was interrupted";
  return "the process that makes it was killed by " + signal_text(child.signal());
}

}  // namespace

void say_last_word(const Run& run, const Completion& completion, Patience& patience) {
  int ends[2], child = -1;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) child = fork();
  if (child < 0) {
    std::string why = std::string("no process can be started: ") + strerror(errno);
    return say_what_is_missing(run, completion, LastWord::closing_line, why);
  }
  if (child == 0) {
    patience.supervisor().restore();
    Progress::show_hint(run.report ? " (Ctrl-C: no page)" : " (Ctrl-C: no summary)");
    try {
      compose(run, completion, [&](LastWord) { (void)!write(ends[1], "", 1); });
    } catch (const std::exception& e) {
      complain(e.what());
    }
    _exit(kExitOk);
  }
  close(ends[1]);
  Child composer(child, ends[0]);
  bool ended = patience.for_last_word([&] { return composer.has_ended(); },
                                      [&] { return std::string(doing(composer.stage())); });
  if (!ended) composer.end();
  if (!ended || composer.signal())
    say_what_is_missing(run, completion, composer.stage(), why_it_ended(composer, !ended));
  close(ends[0]);
}

}  // namespace tprof
