#include "cli/docs.h"

#include <string.h>

#include <sstream>

#include "base/options.h"
#include "exit_codes.h"
#include "stats_words.h"

namespace tprof {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 28;

const struct {
  int code;
  const char* what;
} kExitCodes[] = {
    {kExitOk, "all is well"},
    {kExitInvalid,
     "tprof check: the trace is not valid; tprof advise, tprof diff: what --fail-on or --fail-on-regression names was "
     "found"},
    {kExitUsage, "wrong options or values; nothing was started or written"},
    {kExitUnreadable, "the input cannot be read"},
    {kExitPartial, "something was written, something was lost or damaged"},
};
constexpr char kRunExit[] =
    "tprof run ends as the program ends: with its exit status, or by the same signal (as PID 1: 128 + "
    "signal). "
    "Of its own it only has 2, 126 (not executable) and 127 (not found), before anything is started.";

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

const OptionRow* option_row(const Flag& flag) {
  for (int i = 0; i < kOptionRowCount; i++)
    if (flag.name == kOptionRows[i].flag) return &kOptionRows[i];
  return nullptr;
}

// The help of an option of options.def also names its default and variable.
std::string full_help(const Command& command, const Flag& flag) {
  const OptionRow* option = strcmp(command.name, "run") ? nullptr : option_row(flag);
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

// For a single-quoted word of a completion script; "[" and ":" mean something to zsh's _arguments.
std::string script(const std::string& text, bool zsh) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (zsh && strchr("[]:\\", c))
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

std::string overview_text() {
  std::ostringstream out;
  out << "usage: tprof COMMAND [OPTION...] [ARGUMENT...]      (tprof-run is short for tprof run)\n\n"
         "Records what a PyTorch program does, without a change to it, as traces for TensorBoard and "
         "Perfetto.\n\n";
  for (const Command& command : kCommands)
    if (!command.hidden) out << row(command.name, command.help);
  out << "\n"
      << row("--help, --version", "tprof COMMAND --help, or tprof help COMMAND, says more on each")
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
  out << row("-h, --help", "print this");
  if (!strcmp(command.name, "run")) {
    out << "\n"
        << wrapped(
               "Each option is also an environment variable, named in brackets; what is typed wins. [=0|1] "
               "options may stand alone (--with-flops) or be negated (--no-record-shapes).")
        << "\n"
        << wrapped(kRunExit);
  }
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
             "Records what a PyTorch program does, operator by operator, without a change to it, and writes "
             "Kineto traces that the TensorBoard profiler plugin, Perfetto and speedscope open.")
      << "\n";
  for (const Command& command : kCommands) {
    if (command.hidden || (run_only && strcmp(command.name, "run"))) continue;
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
  }
  out << ".SH ENVIRONMENT\n"
      << roff(
             "Each option of tprof run is also a variable (named in brackets above), so that a program "
             "started with "
             "LD_PRELOAD=.../libtprof.so alone understands the same words.")
      << "\n.SH EXIT STATUS\n";
  for (const auto& e : kExitCodes) out << ".TP\n.B " << e.code << "\n" << roff(e.what) << "\n";
  out << ".PP\n" << roff(kRunExit) << "\n.SH SEE ALSO\n" << (run_only ? ".BR tprof (1)\n" : ".BR tprof\\-run (1)\n");
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

std::string bash_completion() {
  std::ostringstream out, names;
  for (const Command& command : kCommands)
    if (!command.hidden) names << (names.tellp() ? " " : "") << command.name;
  out << "# bash completion for tprof, generated by: tprof options --format bash\n"
         "_tprof() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} first=2 i\n"
         "  [[ $cur == = ]] && cur=\n"
         "  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  if [[ ${COMP_WORDS[0]##*/} == tprof-run ]]; then command=run first=1\n"
         "  elif ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W '"
      << names.str()
      << " help --help --version' -- \"$cur\")); return\n"
         "  fi\n"
         "  if [[ $command == run ]]; then\n"
         "    for ((i = first; i < COMP_CWORD; i++)); do\n"
         "      if [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null; then "
         "_command_offset $((i + 1)); return; fi\n"
         "    done\n"
         "  fi\n"
         "  case $command$prev in\n";
  for (const Command& command : kCommands) {
    Arguments arguments;
    command.declare(arguments);
    for (const Flag& flag : arguments.flags())
      if (!flag.choices.empty())
        out << "    " << command.name << flag.name << ") COMPREPLY=($(compgen -W '" << spaced(flag.choices)
            << "' -- \"$cur\")); return ;;\n";
  }
  out << "    help*) COMPREPLY=($(compgen -W '" << names.str() << "' -- \"$cur\")); return ;;\n"
      << "  esac\n"
         "  [[ $cur == -* ]] || { COMPREPLY=($(compgen -f -- \"$cur\")); return; }\n"
         "  case $command in\n";
  for (const Command& command : kCommands) {
    if (command.hidden) continue;
    Arguments arguments;
    command.declare(arguments);
    out << "    " << command.name << ") COMPREPLY=($(compgen -W '";
    for (const Flag& flag : arguments.flags()) out << flag.name << " ";
    out << "--help' -- \"$cur\")) ;;\n";
  }
  out << "  esac\n}\ncomplete -o filenames -F _tprof tprof tprof-run\n";
  return out.str();
}

std::string zsh_completion() {
  std::ostringstream out;
  out << "#compdef tprof tprof-run\n# generated by: tprof options --format zsh\n"
         "_tprof_options() {\n  case $1 in\n";
  for (const Command& command : kCommands) {
    if (command.hidden) continue;
    Arguments arguments;
    command.declare(arguments);
    out << "    " << command.name << ") _arguments -S";
    for (const Flag& flag : arguments.flags()) {
      out << " \\\n      '" << flag.name << (flag.takes == Flag::Takes::value ? "=" : "") << "["
          << script(flag.help, true) << "]";
      if (flag.takes == Flag::Takes::value)
        out << ":" << script(flag.metavar, true)
            << (!flag.choices.empty()    ? ":(" + script(spaced(flag.choices), true) + ")"
                : flag.metavar == "DIR"  ? ":_files -/"
                : flag.metavar == "FILE" ? ":_files"
                                         : ":");
      out << "'";
    }
    out << " \\\n      '--help[print help]' "
        << (arguments.takes_program() ? "'*::program:_normal'" : "'*:path:_files'") << " ;;\n";
  }
  out << "  esac\n}\n_tprof() {\n  if [[ $service == tprof-run ]]; then _tprof_options run; return; fi\n"
         "  if ((CURRENT == 2)); then\n    local -a commands=(";
  for (const Command& command : kCommands)
    if (!command.hidden) out << "'" << command.name << ":" << script(command.help, true) << "' ";
  out << ")\n    _describe command commands\n  else\n    shift words; ((CURRENT--)); _tprof_options "
         "$words[1]\n  fi\n}\n"
         "_tprof \"$@\"\n";
  return out.str();
}

}  // namespace tprof
