#include "cli/options_cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.h"

namespace tprof {
namespace {

const struct {
  const char* flag;
  const char* word;
  const char* help;
} kScheduleWords[] = {
    {"--skip-first", "skip_first", "schedule: steps to leave out once, at the start"},
    {"--wait", "wait", "schedule: steps to leave out before each window"},
    {"--warmup", "warmup", "schedule: steps recorded and thrown away before each window"},
    {"--active", "active", "schedule: steps of each window"},
    {"--repeat", "repeat", "schedule: number of windows, 0 for ever"},
    {"--skip-first-wait", "skip_first_wait", "schedule: 1 for no wait before the first window"},
};

const OptionRow* row_of_variable(const std::string& variable) {
  for (int i = 0; i < kOptionRowCount; i++)
    if (variable == kOptionRows[i].env) return &kOptionRows[i];
  return nullptr;
}

// The words that a METAVAR offers to completion: "auto|backward:N" has auto and backward:.
std::vector<std::string> words_of(const std::string& metavar) {
  std::vector<std::string> words;
  if (metavar.find('|') == std::string::npos || metavar[0] == '[') return words;
  std::istringstream parts(metavar);
  for (std::string word; std::getline(parts, word, '|');) {
    size_t colon = word.find(':');
    words.push_back(word.substr(0, std::min(word.find('['), colon == std::string::npos ? colon : colon + 1)));
  }
  return words;
}

}  // namespace

void declare_run_options(Arguments& arguments, RunArguments& out) {
  for (int i = 0; i < kOptionRowCount; i++) {
    const OptionRow& row = kOptionRows[i];
    Flag flag{row.flag, "", row.metavar, row.help, Flag::Takes::value, nullptr, words_of(row.metavar)};
    if (!strcmp(row.field, "logdir")) flag.alias = "-o";
    if (!strcmp(row.field, "with_stack")) flag.alone = "1";
    if (!strcmp(row.field, "sample")) flag.alone = "python";
    if (!strcmp(row.kind, "flag")) flag.takes = Flag::Takes::optional_01;
    flag.set = [&out, i](const std::string& text) { out.options.push_back({i, text}); };
    arguments.add(std::move(flag));
    if (strcmp(row.field, "schedule")) continue;
    for (const auto& word : kScheduleWords)
      arguments.add({word.flag, "", "N", word.help, Flag::Takes::value, [&out, w = word.word](const std::string& text) {
                       out.schedule_words.push_back({w, text});
                     }});
  }
  arguments.toggle(
      "--report", "",
      "write report.html, the page of `tprof report`, into the log directory at the end, however long that takes",
      out.report);
  arguments.toggle("--quiet", "-q", "print nothing at the end: neither what was written nor the summary", out.quiet);
  arguments.toggle("--print-env", "",
                   "print the environment as export lines and exit, for launchers that cannot use a wrapper",
                   out.print_env);
  arguments.program(out.program);
}

std::string compose_schedule(const RunArguments& arguments) {
  std::string text;
  for (const auto& [word, value] : arguments.schedule_words) text += (text.empty() ? "" : ",") + word + "=" + value;
  return text;
}

Options apply_options(const RunArguments& arguments) {
  std::vector<std::string> typed;
  auto put = [&](const char* variable, const std::string& value) {
    setenv(variable, value.c_str(), 1);
    typed.push_back(variable);
  };
  for (const auto& [row, value] : arguments.options) put(kOptionRows[row].env, value);
  auto is_typed = [&](const char* variable) {
    for (const std::string& t : typed)
      if (t == variable) return true;
    return false;
  };
  if (!arguments.schedule_words.empty()) {
    if (is_typed("TPROF_SCHEDULE"))
      throw Error(Fault::usage, "--schedule and --" + std::string(arguments.schedule_words[0].first) +
                                    " are both given; put everything into --schedule");
    put("TPROF_SCHEDULE", compose_schedule(arguments));
  }
  // The command line replaces the environment, also if one has --steps and the other --schedule.
  if (is_typed("TPROF_STEPS") && !is_typed("TPROF_SCHEDULE")) unsetenv("TPROF_SCHEDULE");
  if (is_typed("TPROF_SCHEDULE") && !is_typed("TPROF_STEPS")) unsetenv("TPROF_STEPS");

  Options options;
  OptionError error;
  if (parse_options(options, error)) return options;
  // The message names the variable. If the flag was typed, name that.
  std::string text = error.text;
  size_t colon = text.find(':');
  if (colon != std::string::npos && is_typed(text.substr(0, colon).c_str()))
    if (const OptionRow* row = row_of_variable(text.substr(0, colon))) {
      bool words = !strcmp(row->field, "schedule") && !arguments.schedule_words.empty();
      text = (words ? "the schedule" : row->flag) + text.substr(colon);
    }
  throw Error(Fault::usage, text);
}

std::string compose_preload(const std::string& library, const char* existing) {
  std::string out = library;
  for (const char* at = existing ? existing : ""; *at;) {
    size_t n = strcspn(at, ": ");  // the loader takes both as separators
    std::string part(at, n);
    at += n + (at[n] != 0);
    size_t slash = part.rfind('/');
    std::string name = slash == std::string::npos ? part : part.substr(slash + 1);
    if (!part.empty() && name != "libtprof.so") out += ":" + part;
  }
  return out;
}

std::string program_label(const std::vector<std::string>& program) {
  std::string label;
  auto base = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  for (size_t i = 0; i < program.size() && label.empty(); i++) {
    const std::string& word = program[i];
    // A launcher run as a module is not the script.
    if (word == "-m" && i > 0 && i + 1 < program.size() && !program[i + 1].starts_with("torch.distributed."))
      label = program[i + 1];
    if (word.size() > 3 && word.ends_with(".py")) label = base(word.substr(0, word.size() - 3));
  }
  if (label.empty() && !program.empty()) label = base(program[0]);
  for (char& c : label)
    if (!isalnum(static_cast<unsigned char>(c)) && !strchr("._-+", c)) c = '_';
  if (label.empty() || label[0] == '.' || label[0] == '-') label = "job" + label;
  return label.substr(0, 80);
}

std::string run_name(const std::string& label, time_t when) {
  tm local{};
  localtime_r(&when, &local);
  char text[32];
  strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return label + "-" + text;
}

std::string absolute_path(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  if (ignored) return path;
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string nearest_existing(const std::string& path) {
  std::filesystem::path at = path;
  std::error_code ignored;
  while (!std::filesystem::exists(at, ignored) && at.has_parent_path() && at != at.parent_path()) at = at.parent_path();
  return at.string();
}

}  // namespace tprof
