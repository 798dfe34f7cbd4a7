#include "cli/docs.h"

#include <string.h>

#include <sstream>

#include "base/options.h"
#include "dataset/schema.h"
#include "exit_codes.h"
#include "record/record.h"
#include "stats_words.h"

namespace tprof {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 28;

const struct {
  int code;
  const char* what;
} kExitCodes[] = {
    {kExitOk, "success"},
    {kExitInvalid,
     "tprof check: a trace is not valid; tprof advise, tprof diff: what --fail-on or --fail-on-regression names was "
     "found; tprof doctor: something does not work; tprof hang: something holds the job up"},
    {kExitUsage, "wrong options or values; nothing was started or written"},
    {kExitUnreadable, "the input cannot be read"},
    {kExitPartial,
     "something was lost, damaged or left out, or standard output could not be written; tprof hang: it cannot be told; "
     "tprof diff --fail-on-regression: too few runs or steps"},
};

std::string exit_text(const Command& command) { return std::string("Exit status: ") + command.exit_status + "."; }

// "  left    text, wrapped"
std::string row(const std::string& left, const std::string& text) {
  std::string out = "  " + left;
  if (out.size() + 2 > kIndent)
    out += "\n" + std::string(kIndent, ' ');
  else
    out.resize(kIndent, ' ');
  size_t at = kIndent;
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word;) {
    if (!first && at + 1 + word.size() > kWidth) {
      out += "\n" + std::string(kIndent, ' ');
      at = kIndent;
    } else if (!first) {
      out += " ";
      at++;
    }
    out += word;
    at += word.size();
    first = false;
  }
  return out + "\n";
}

std::string wrapped(const std::string& text) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + "\n";
}

// "--logdir DIR", "--with-flops[=0|1]"
std::string with_metavar(const std::string& name, const std::string& metavar) {
  return name + (metavar.empty() || metavar[0] == '[' ? "" : " ") + metavar;
}

std::string left_of(const Flag& flag) {
  return with_metavar(flag.alias.empty() ? flag.name : flag.alias + ", " + flag.name, flag.metavar);
}

bool is_run(const Command& command) { return !strcmp(command.name, "run"); }

const OptionRow* option_row(const Flag& flag) {
  for (int i = 0; i < kOptionRowCount; i++)
    if (flag.name == kOptionRows[i].flag) return &kOptionRows[i];
  return nullptr;
}

// The help of an option of options.def also names its default and variable.
std::string full_help(const Command& command, const Flag& flag) {
  const OptionRow* option = is_run(command) ? option_row(flag) : nullptr;
  if (!option) return flag.help;
  std::string text = flag.help;
  if (*option->fallback) text += " (default " + std::string(option->fallback) + ")";
  return text + " [" + option->env + "]";
}

std::string usage(const Command& command, const Arguments& arguments) {
  std::string operands = arguments.operand_usage();
  return std::string("tprof ") + command.name + " [OPTION...]" + (operands.empty() ? "" : " " + operands);
}

std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string recording_formats() {
  std::string major = std::to_string(kVersionMajor);
  return "A recording (*.tprof) is written in format " + major + "." + std::to_string(kVersionMinor) + ". Formats " +
         major + "." + std::to_string(kOldestMinor) + " and later " + major +
         ".x are read; what a newer minor version adds is skipped.";
}

std::string overview_text() {
  std::ostringstream out;
  out << "usage: tprof COMMAND [OPTION...] [ARGUMENT...]      (tprof-run is short for tprof run)\n\n"
         "Records what a PyTorch program does, without a change to it, as traces for TensorBoard and Perfetto.\n\n";
  for (const Command& command : kCommands)
    if (!command.hidden) out << row(command.name, command.help);
  out << "\n"
      << row("--help, --version", "tprof COMMAND --help and tprof help COMMAND explain a command")
      << "\nStart with:  tprof run -- python train.py\n";
  return out.str();
}

std::string help_text(const Command& command) {
  Arguments arguments;
  command.declare(arguments);
  std::ostringstream out;
  out << "usage: " << usage(command, arguments) << "\n\n" << wrapped(std::string(command.help) + ".");
  if (*command.more) out << "\n" << wrapped(command.more);
  out << "\n";
  if (!arguments.operand_help().empty()) out << row(arguments.operand_usage(), arguments.operand_help()) << "\n";
  for (const Flag& flag : arguments.flags()) out << row(left_of(flag), full_help(command, flag));
  out << row("-h, --help", "print this help");
  if (is_run(command))
    out << "\n"
        << wrapped(
               "Each option is also an environment variable, named in brackets; the command line takes precedence. "
               "Options with [=0|1] may stand alone (--with-flops) or be negated (--no-record-shapes).");
  out << "\n" << wrapped(exit_text(command));
  return out.str();
}

std::string man_page(const std::string& name) {
  bool run_only = name == "tprof-run";
  std::ostringstream out;
  out << ".\\\" Generated from the option table by: tprof options --format man\n"
      << ".TH " << (run_only ? "TPROF\\-RUN" : "TPROF") << " 1 \"\" \"tprof " << TPROF_VERSION << "\"\n.SH NAME\n"
      << roff(name)
      << (run_only ? " \\- run a program under the PyTorch profiler tprof\n"
                   : " \\- PyTorch profiler that needs no change to the program\n")
      << ".SH SYNOPSIS\n";
  if (run_only)
    out << ".B tprof\\-run\n[\\fIOPTION\\fR...] [\\-\\-] \\fIPROGRAM\\fR [\\fIARGUMENT\\fR...]\n";
  else
    out << ".B tprof\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n";
  out << ".SH DESCRIPTION\n"
      << roff(
             "Records what a PyTorch program does, operator by operator, without a change to it, and writes Kineto "
             "traces that the TensorBoard profiler plugin, Perfetto and speedscope open.")
      << "\n";
  for (const Command& command : kCommands) {
    if (command.hidden || (run_only && !is_run(command))) continue;
    Arguments arguments;
    command.declare(arguments);
    if (run_only)
      out << ".SH OPTIONS\n";
    else
      out << ".SH TPROF " << roff(command.name) << "\n.B " << roff(usage(command, arguments)) << "\n.PP\n";
    out << roff(std::string(command.help) + ".") << "\n";
    if (*command.more) out << ".PP\n" << roff(command.more) << "\n";
    for (const Flag& flag : arguments.flags())
      out << ".TP\n.B " << roff(left_of(flag)) << "\n" << roff(full_help(command, flag)) << "\n";
    out << ".PP\n" << roff(exit_text(command)) << "\n";
  }
  out << ".SH ENVIRONMENT\n"
      << roff(
             "Each option of tprof run is also a variable (named in brackets above), so that a program started with "
             "LD_PRELOAD=.../libtprof.so alone can be given the same options.")
      << "\n";
  if (!run_only) {
    out << ".SH EXIT STATUS\ntprof run ends as its program does (see there). The other commands end with:\n";
    for (const auto& e : kExitCodes) out << ".TP\n.B " << e.code << "\n" << roff(e.what) << "\n";
  }
  out << ".SH FILES\n" << roff(recording_formats()) << "\n";
  out << ".SH SEE ALSO\n" << (run_only ? ".BR tprof (1)\n" : ".BR tprof\\-run (1)\n");
  return out.str();
}

std::string markdown_options() {
  std::ostringstream out;
  out << "| option | variable | default | meaning |\n|---|---|---|---|\n";
  auto cell = [](std::string text) {
    for (size_t at = 0; (at = text.find_first_of("|<", at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (int i = 0; i < kOptionRowCount; i++) {
    const OptionRow& r = kOptionRows[i];
    out << "| `" << cell(with_metavar(r.flag, r.metavar)) << "` | `" << r.env << "` | "
        << (*r.fallback ? "`" + std::string(r.fallback) + "`" : "") << " | " << cell(r.help) << " |\n";
  }
  return out.str();
}

std::string markdown_stats() {
  std::string out = "| `--by` | rows |\n|---|---|\n";
  for (const StatsWord& word : stats_words()) out += std::string("| `") + word.word + "` | " + word.what + " |\n";
  return out;
}

std::string markdown_tables() {
  auto type_of = [](const dataset::ColumnInfo& column) {
    constexpr const char* kTypes[] = {"integer", "real", "text"};
    return std::string(kTypes[size_t(column.type)]) + (column.nullable ? ", null" : "");
  };
  auto rows_of = [&](const std::vector<dataset::ColumnInfo>& columns) {
    std::string rows = "| column | type | unit | meaning |\n|---|---|---|---|\n";
    for (const dataset::ColumnInfo& column : columns)
      rows += std::string("| `") + column.name + "` | " + type_of(column) + " | " + column.unit + " | " + column.what +
              " |\n";
    return rows;
  };
  std::string out = "### All tables\n" + rows_of(dataset::origin_columns());
  for (const dataset::TableInfo& table : dataset::tables())
    out += std::string("\n### ") + table.name + "\nA row is " + table.what + ".\n\n" + rows_of(table.columns);
  return out;
}

}  // namespace tprof
