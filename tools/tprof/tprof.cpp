// The `tprof` command: one table of subcommands. Each has a file of its own, and help and man pages are printed from
// the table (cli/docs.h).
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

// Exit statuses that commands have in common.
#define WRONG "2 wrong options or values"
#define READING "3 nothing could be read, 4 some of it could not"

const std::vector<Command> kCommands = {
    {"run", "run a program under the profiler",
     "Traces are written to --logdir for each window of the schedule, or for the whole run, however the program ends. "
     "stdin, stdout, exit status and signals are those of the program.",
     "that of the program; if it was ended by a signal, tprof run ends by the same signal (as PID 1: 128 + signal). "
     "Before the program is started: 2 wrong options or values, 126 the program is not executable, 127 the program was "
     "not found. With --print-env: 0",
     false, declare_run},
    {"convert", "write the traces that a recording or a log directory still holds",
     "In a directory, recordings are converted for the windows that have no trace yet. If a finisher is at work on a "
     "recording, tprof convert leaves it alone or waits; while the program still runs, only finished windows are "
     "written. Recordings are kept. Without a schedule, --steps chooses the steps to write.",
     "0 success, " WRONG ", 3 nothing could be converted, 4 something was lost, damaged or not converted, or a program "
     "is still running",
     false, declare_convert},
    {"overview", "show where the time of a run went: GPU summary, average step by category",
     "Reads traces of tprof and of torch.profiler, recordings, and directories of them. A directory is a run; a "
     "file is a worker and span.",
     "0 success, " WRONG ", " READING, false, declare_overview},
    {"steps", "show where the time of each step went", "As overview, step by step.", "0 success, " WRONG ", " READING,
     false, declare_steps},
    {"advise", "show what to change, what it would save, and where to see it",
     "Rules are applied to each worker and span. Findings are sorted by the time that they would save in a step.",
     "0 success, 1 findings as grave as --fail-on names, " WRONG ", " READING, false, declare_advise},
    {"diff", "show what changed from one run to another, and whether it is more than noise",
     "All workers, spans and threads of A are compared with those of B, per step: by category, operator, kernel and "
     "module. Several runs of each (A1 A2 A3 --vs B1 B2 B3, or directories of run directories) are the sample; with "
     "one run of each, the noise between runs of the same program is not known.",
     "0 success, 1 a regression that --fail-on-regression names, " WRONG ", " READING
     ", or there are too few runs or steps for --fail-on-regression to decide",
     false, declare_diff},
    {"info", "show what a recording, a trace or a log directory holds", "",
     "0 success, " WRONG ", 3 a file could not be read", false, declare_info},
    {"check", "show whether traces are valid, and what a viewer would miss", "",
     "0 all traces are valid, 1 a trace is not valid, " WRONG ", 3 a file could not be read", false, declare_check},
    {"stats", "tables of operators, kernels, memory, modules, idle time, launches, critical path and more",
     "Reads traces of tprof and of torch.profiler. The columns of operators are those of torch.profiler's "
     "key_averages(). What was not recorded is named, and not shown as zero.",
     "0 success, " WRONG ", " READING, false, declare_stats},
    {"report", "write one HTML page with all of it: overview, operators, kernels, memory, modules, ranks, diff",
     "The page is one file that opens from disk, without a network. With A... --vs B... it holds both sides and what "
     "changed. A file that exists and is not a report is not overwritten.",
     "0 success, " WRONG ", " READING, false, declare_report},
    {"view", "serve the pages of tprof report of all runs in a directory, on 127.0.0.1",
     "Lists runs, workers and spans, and makes the page of each when it is opened, with nothing left out for its size. "
     "New traces appear by themselves. The address that is printed holds a random token, without which nothing is "
     "answered. It only reads, below LOGDIR only, and follows no symbolic links there.",
     "0 ended by SIGINT, SIGTERM or SIGHUP, " WRONG " or a port that cannot be had, 3 the directory cannot be served",
     false, declare_view},
    {"export", "write traces in the file formats of other programs",
     "The traces stay as they are. What a format has no place for is counted.",
     "0 success, " WRONG ", " READING ", or something could not be written", false, declare_export},
    {"merge", "write the traces of all ranks as one timeline for viewers, on one clock",
     "Each rank has tracks of its own. Times of machines whose clocks differ are moved by what the ends of their "
     "common collectives show; the error of that is stated in the file. What the error does not allow to be ordered "
     "is named. The traces stay as they are.",
     "0 success, " WRONG ", " READING ", or the clock of a rank is not known", false, declare_merge},
    {"stack", "show what the threads of a running program, or of one that dumped core, are doing",
     "Native and Python frames of any program, whether tprof was there from its start or not. Each thread is stopped "
     "for a few milliseconds at most, one after the other. Who may debug a program may read its stacks.",
     "0 success, " WRONG ", " READING, false, declare_stack},
    {"trigger", "ask a running program for a trace now",
     "In flight mode the program writes what it has kept. With a schedule it opens a window at the next step. Only the "
     "user of the program can ask. No command or path is handed over, only a number of steps.",
     "0 success, " WRONG ", 3 no program was asked, 4 some were not", false, declare_trigger},
    {"hang", "show which rank or thread of a running job holds the others up, and where",
     "Looks at the recordings of all ranks and at their processes, twice, a second apart. Says who waits for whom in "
     "which collective, and what the one that all wait for does, with its stack; or that nothing is wrong, or why that "
     "cannot be told. Who may debug a program may read its stacks.",
     "0 the job goes on, 1 something holds it up, " WRONG ", 3 nothing could be read, 4 it cannot be told", false,
     declare_hang},
    {"top", "show what a program that is being recorded does now, live in the terminal",
     "Step rate, time of a step, operators, lines of Python, memory, ranks, workers; keys sort, pause and quit. Reads "
     "the recording and the samples beside it, never the program. While the schedule waits, it says when the next "
     "window comes and keeps what was seen last.",
     "0 success, " WRONG ", "
     "3 there is nothing to watch",
     false, declare_top},
    {"doctor", "show what works on this machine and what does not, and why", "",
     "0 all works that is needed, 1 something does not work, " WRONG, false, declare_doctor},
    {"finish", "write the traces of one recording while its program runs (started by libtprof.so)", "",
     "0 success, " WRONG ", 3 the recording could not be read, 4 something was lost or damaged", true, declare_finish},
    {"sample", "read the stacks of the program of one recording (started by tprof finish)", "",
     "0 success, " WRONG ", 3 the recording could not be read or nothing could be written beside it", true,
     declare_sample},
    {"watch", "look whether the program of one recording stands still (started by tprof finish)", "",
     "0 success, " WRONG ", 3 the recording could not be read", true, declare_watch},
    {"page", "write one page (started by tprof-view)", "", "0 success, " WRONG ", " READING, true, declare_page},
    {"options",
     "print the option table as help, man, man-run, markdown, bash or zsh; stats: the words of --by; tables: those of "
     "export",
     "", "0 success, " WRONG, true, declare_options},
};
#undef WRONG
#undef READING

void complain(const std::string& line) { print(stderr, "tprof: " + printable(line) + "\n"); }

Action declare_options(Arguments& arguments) {
  auto format = std::make_shared<std::string>("help");
  arguments.value("--format", "", "WORD", "help, man, man-run, markdown, stats, tables, bash or zsh", *format);
  return [format] {
    std::string text = *format == "man"        ? man_page("tprof")
                       : *format == "man-run"  ? man_page("tprof-run")
                       : *format == "markdown" ? markdown_options()
                       : *format == "stats"    ? markdown_stats()
                       : *format == "tables"   ? markdown_tables()
                       : *format == "bash"     ? bash_completion()
                       : *format == "zsh"      ? zsh_completion()
                       : *format == "help"     ? help_text(kCommands[0])
                                               : "";
    if (text.empty())
      throw Error(Fault::usage,
                  "--format '" + *format + "' is not help, man, man-run, markdown, stats, tables, bash or zsh");
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

int print_version() {
  printf("tprof %s\n%s\n", TPROF_VERSION, recording_formats().c_str());
  return kExitOk;
}
int print_help(const Command& command) { return fputs(help_text(command).c_str(), stdout), kExitOk; }

const Command* command_of(const std::string& name) {
  for (const Command& command : kCommands)
    if (name == command.name) return &command;
  return nullptr;
}

// What the user probably meant by a word that is not a command: to profile a program, to read a file, or another
// command.
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
