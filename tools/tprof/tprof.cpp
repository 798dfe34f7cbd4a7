// The `tprof` command: one table of subcommands. What each does is in a file of its own; what users read
// about them is printed from the tables (docs.h).
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <exception>
#include <filesystem>

#include "base/error.h"
#include "base/printable.h"
#include "cli/docs.h"
#include "command.h"
#include "exit_codes.h"
#include "input/trace_file.h"
#include "run/program_file.h"

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
     "several runs of each (A1 A2 A3 --vs B1 B2 B3, or directories of run directories) these are the sample; with one, "
     "how "
     "far runs of the same program differ is not known. Exit status: 0, 1 a regression with --fail-on-regression, 3 "
     "nothing "
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
    {"report", "write one HTML page with all of it: overview, operators, kernels, memory, modules, ranks, diff",
     "The page is one file that opens from disk, without a network. With A... --vs B... it holds both and what "
     "changed. An "
     "existing file that is no report is left alone. Exit status: 0, 3 nothing could be read, 4 some of it could not.",
     false, declare_report},
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
      throw Error(Fault::usage, "--format '" + *format + "' is not help, man, man-run, markdown, stats, bash or zsh");
    fputs(text.c_str(), stdout);
    return int(kExitOk);
  };
}

namespace {

int usage_error(const std::string& line) {
  complain(line);
  return kExitUsage;
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

int print_version() { return puts("tprof " TPROF_VERSION), kExitOk; }
int print_help(const Command& command) { return fputs(help_text(command).c_str(), stdout), kExitOk; }

const Command* command_of(const std::string& name) {
  for (const Command& command : kCommands)
    if (name == command.name) return &command;
  return nullptr;
}

// What was meant by a word that is no command: what it names tells, a program or something to be read.
std::string meant_by(const std::vector<std::string>& words) {
  const std::string& word = words[0];
  std::error_code ignored;
  if (std::filesystem::is_directory(word, ignored) || is_trace_name(word) || is_recording_name(word))
    return "to read it: tprof overview " + word;
  std::string rest;
  for (const std::string& w : words) rest += " " + w;
  bool exists = std::filesystem::exists(word, ignored);
  if (word.ends_with(".py")) return "to profile it: tprof run -- python" + rest;
  if (exists && word.find('/') != std::string::npos) return "to profile it: tprof run --" + rest;
  std::vector<std::string> names;
  for (const Command& command : kCommands)
    if (!command.hidden) names.push_back(command.name);
  if (std::string near = nearest(word, names); !near.empty()) return "did you mean tprof " + near + "?";
  if (find_program(word).status == 0) return "to profile it: tprof run --" + rest;
  return "see tprof --help";
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) return fputs(overview_text().c_str(), stderr), kExitUsage;
  bool help = words[0] == "help";
  if (asks_for_help(words[0]) || (help && words.size() == 1)) return fputs(overview_text().c_str(), stdout), kExitOk;
  if (words[0] == "--version" || words[0] == "-V") return print_version();
  const std::vector<std::string> asked(words.begin() + help, words.end());
  const Command* command = command_of(asked[0]);
  if (!command) return usage_error("unknown command '" + asked[0] + "'; " + meant_by(asked));
  if (help || (asked.size() > 1 && asks_for_help(asked[1]))) return print_help(*command);
  if (asked.size() > 1 && asked[1] == "--version") return print_version();
  Arguments arguments;
  Action action = command->declare(arguments);
  arguments.parse({asked.begin() + 1, asked.end()});
  return action();
}

}  // namespace
}  // namespace tprof

int main(int argc, char** argv) {
  try {
    int code = tprof::dispatch({argv + 1, argv + argc});
    return fflush(stdout) == 0 ? code : int(tprof::kExitPartial);
  } catch (const tprof::Error& e) {
    tprof::complain(e.what());
    return exit_code(e.fault);
  } catch (const std::exception& e) {
    tprof::complain(std::string("internal error: ") + e.what());
    return tprof::kExitUnreadable;
  }
}
