// The `tprof` command: one table of subcommands. What each does is in a file of its own; what users read
// about them is printed from the tables (docs.h).
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <exception>

#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "docs.h"

namespace tprof {

const std::vector<Command> kCommands = {
    {"run", "run a program under the profiler",
     "Traces are written to --logdir for each window of the schedule, or for the whole run, whatever way the "
     "program "
     "ends. stdin, stdout, exit status and signals are the program's own.",
     false, declare_run},
    {"convert", "write the traces that a recording or a log directory still holds",
     "A directory: recordings are converted for the windows that have no trace yet. A recording that a "
     "finisher is "
     "at work on is left to it; of a program that still runs only finished windows are written. Recordings "
     "are "
     "kept. Without a schedule, --steps picks which steps to write.",
     false, declare_convert},
    {"overview", "say where the time of a run went: GPU summary, average step by category",
     "Works on traces of tprof and of torch.profiler, on recordings and on directories of them (a directory is a run, "
     "a "
     "file a worker and span). Exit status: 0, 3 nothing could be read, 4 some of it could not.",
     false, declare_overview},
    {"steps", "say where the time of each step went", "As overview, step by step.", false, declare_steps},
    {"advise", "say what to change, what it would save, and where to see it",
     "Rules are applied to each worker and span; findings come by what a step would save. Exit status: 0, 1 findings "
     "with --fail-on, 3 nothing could be read, 4 some of it could not.",
     false, declare_advise},
    {"diff", "say what changed from one run to another, and whether it is more than noise",
     "All workers, spans and threads of A against those of B, per step: by category, operator, kernel and module. With "
     "several runs of each (A1 A2 A3 --vs B1 B2 B3, or directories of run directories) these are the sample; with one, how "
     "far runs of the same program differ is not known. Exit status: 0, 1 a regression with --fail-on-regression, 3 nothing "
     "could be read, 4 some of it could not, or too little for --fail-on-regression to decide.",
     false, declare_diff},
    {"info", "say what a recording, a trace or a log directory holds", "", false, declare_info},
    {"check", "say whether traces are valid, and what a viewer would miss", "", false, declare_check},
    {"stats", "tables of operators, kernels, memory, modules, idle time, launches, critical path and more",
     "Reads what tprof wrote, and any trace of torch.profiler. The columns of operators are those of torch.profiler's "
     "key_averages(); what was not recorded is said, not shown as zero. Exit status: 3 nothing could be read, 4 some "
     "files "
     "could not.",
     false, declare_stats},
    {"doctor", "say what works on this machine and what does not, and why", "", false, declare_doctor},
    {"finish", "write the traces of one recording while its program runs (started by libtprof.so)", "", true,
     declare_finish},
    {"options", "print the option table as help, man, man-run, markdown, bash or zsh; stats: the words of --by", "",
     true, declare_options},
};

void complain(const std::string& line) { print(stderr, "tprof: " + printable(line) + "\n"); }

Action declare_options(Arguments& arguments) {
  auto format = std::make_shared<std::string>("help");
  arguments.value("--format", "", "WORD", "help, man, man-run, markdown, stats, bash or zsh", *format);
  return [format] {
    std::string text = *format == "man"        ? man_page("tprof")
                       : *format == "man-run"  ? man_page("tprof-run")
                       : *format == "markdown" ? markdown_options()
                       : *format == "stats"    ? markdown_stats()
                       : *format == "bash"     ? bash_completion()
                       : *format == "zsh"      ? zsh_completion()
                       : *format == "help"     ? help_text(kCommands[0])
                                               : "";
    if (text.empty())
      throw Error(kExitUsage, "--format '" + *format + "' is not help, man, man-run, markdown, stats, bash or zsh");
    fputs(text.c_str(), stdout);
    return int(kExitOk);
  };
}

namespace {

int usage_error(const std::string& line) {
  complain(line);
  return kExitUsage;
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) return fputs(overview_text().c_str(), stderr), kExitUsage;
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
    return fputs(overview_text().c_str(), stdout), 0;
  if (words[0] == "--version" || words[0] == "-V") return puts("tprof " TPROF_VERSION), 0;
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (words[0] != command.name) {
      if (!command.hidden) names.push_back(command.name);
      continue;
    }
    if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h"))
      return fputs(help_text(command).c_str(), stdout), 0;
    Arguments arguments;
    Action action = command.declare(arguments);
    arguments.parse({words.begin() + 1, words.end()});
    return action();
  }
  std::string near = nearest(words[0], names);
  return usage_error("unknown command '" + words[0] + "'" +
                     (near.empty() ? "; see tprof --help" : "; did you mean tprof " + near + "?"));
}

}  // namespace
}  // namespace tprof

int main(int argc, char** argv) {
  try {
    int code = tprof::dispatch({argv + 1, argv + argc});
    return fflush(stdout) == 0 ? code : int(tprof::kExitPartial);
  } catch (const tprof::Error& e) {
    tprof::complain(e.what());
    return e.code;
  } catch (const std::exception& e) {
    tprof::complain(std::string("internal error: ") + e.what());
    return tprof::kExitUnreadable;
  }
}
