#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"
#include "run/program_file.h"

namespace tprof {
namespace {

// Replaces a separator such as --vs before CLI11 sees it, so that its position among the operands is kept. Nobody types
// this by accident.
constexpr char kSeparator[] = "\n";

[[noreturn]] void refuse_empty(const std::string& name) {
  throw Error(Fault::usage, name + " is given an empty value; leave the option out instead");
}

[[noreturn]] void refuse_unknown(const std::string& word, const std::vector<Flag>& flags) {
  std::string name = word[1] == '-' ? word.substr(0, word.find('=')) : word.substr(0, 2);
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  std::string near = nearest_flag(name, names);
  throw Error(Fault::usage,
              "unknown option " + name + (near.empty() ? "; see --help" : "; did you mean " + near + "?"));
}

// "--with-memory": with, memory.
std::set<std::string> parts_of(const std::string& flag) {
  std::set<std::string> parts;
  std::istringstream words(flag);
  for (std::string part; std::getline(words, part, '-');)
    if (!part.empty()) parts.insert(part);
  return parts;
}

void parse_options(CLI::App& app, const std::vector<std::string>& words) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ArgumentMismatch&) {  // there were too few words
    throw Error(Fault::usage, words.back() + " needs a value; see --help");
  } catch (const std::exception& e) {  // std::out_of_range too: --no-with-flops=99999999999999999999
    throw Error(Fault::usage, std::string("an option has a value that it cannot take: ") + e.what());
  }
}

// Whether `word` is a value of the flag: a list of its choices, each with what may follow a colon.
bool is_value_of(const Flag& flag, const std::string& word) {
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, ',');) {
    part = part.substr(0, part.find(':'));
    if (std::find(flag.choices.begin(), flag.choices.end(), part) == flag.choices.end()) return false;
  }
  return !word.empty();
}

// Also a misspelt one, if it does not name a program: it is better refused than taken for one that is not there. Words
// of one or two letters are like any other.
bool is_meant_for(const Flag& flag, const std::string& word) {
  bool misspelt = word.size() > 2 && word[0] != '-' && !nearest(word, flag.choices).empty();
  return is_value_of(flag, word) || (misspelt && find_program(word).status == 127);
}

}  // namespace

void Arguments::toggle(const std::string& name, const std::string& alias, const std::string& help, bool& out) {
  add({name, alias, "", help, Flag::Takes::nothing, [&out](const std::string&) { out = true; }});
}

void Arguments::value(const std::string& name, const std::string& alias, const std::string& metavar,
                      const std::string& help, std::string& out) {
  add({name, alias, metavar, help, Flag::Takes::value, [&out](const std::string& text) { out = text; }});
}

void Arguments::choice(const std::string& name, const std::string& metavar, const std::string& help,
                       std::vector<std::string> choices, std::string& out) {
  value(name, "", metavar, help, out);
  flags_.back().choices = std::move(choices);
}

void Arguments::operands(const std::string& metavar, const std::string& help, size_t least, size_t most,
                         std::vector<std::string>& out) {
  operand_metavar_ = metavar;
  operand_help_ = help;
  least_ = least;
  most_ = most;
  operands_ = &out;
}

void Arguments::operands_after(const std::string& separator, const std::string& help, std::vector<std::string>& out) {
  add({separator, "", "", help, Flag::Takes::nothing, [](const std::string&) {}});
  separator_ = separator;
  second_ = &out;
}

void Arguments::program(std::vector<std::string>& out) { program_ = &out; }

std::string Arguments::operand_usage() const {
  if (program_) return "[--] PROGRAM [ARGUMENT...]";
  if (operand_metavar_.empty()) return "";
  std::string text = operand_metavar_ + (most_ == 1 ? "" : "...");
  return least_ ? text : "[" + text + "]";
}

// CLI11 parses what stands before "--", options and operands mixed. Its own treatment of "--" is not used (an option
// that lacks its value would take it), nor its operands (one like "[a,b]" would be split): operands are what it leaves
// over.
void Arguments::parse(const std::vector<std::string>& words) {
  auto marker = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> front(words.begin(), marker);
  if (second_) std::replace(front.begin(), front.end(), separator_, std::string(kSeparator));

  front = with_values(std::move(front));
  CLI::App app;
  declare_to(app);
  parse_options(app, front);
  std::vector<std::string> rest = app.remaining();
  check_spelling(front, rest);
  set_flags(app);

  // With a program, a "--" that follows its first word belongs to the program.
  if (marker != words.end()) rest.insert(rest.end(), marker + (program_ && !rest.empty() ? 0 : 1), words.end());
  if (program_)
    *program_ = rest;
  else
    set_operands(std::move(rest));
}

// The words with the values of flags that stand alone: CLI11 would take the next word for the value.
std::vector<std::string> Arguments::with_values(std::vector<std::string> words) const {
  for (size_t i = 0; i < words.size(); i++) {
    const std::string& word = words[i];
    bool operand = word.size() < 2 || word[0] != '-';
    if (operand && program_) break;  // the rest is the program's
    auto flag = std::find_if(flags_.begin(), flags_.end(), [&](auto& f) { return f.name == word || f.alias == word; });
    if (operand || flag == flags_.end() || flag->takes != Flag::Takes::value) continue;
    if (!flag->alone.empty() && (i + 1 == words.size() || !is_meant_for(*flag, words[i + 1])))
      words[i] += "=" + flag->alone;
    else
      i++;
  }
  return words;
}

void Arguments::declare_to(CLI::App& app) const {
  app.set_help_flag();  // tprof.cpp prints help, from this table
  app.allow_extras(!program_);
  app.prefix_command(program_);
  for (const Flag& flag : flags_) {
    std::string names = flag.alias.empty() ? flag.name : flag.alias + "," + flag.name;
    if (flag.takes == Flag::Takes::optional_01) names += ",!--no-" + flag.name.substr(2);
    if (flag.takes == Flag::Takes::value)
      app.add_option(names)->take_last();
    else
      app.add_flag(names);
  }
}

void Arguments::check_spelling(const std::vector<std::string>& front, const std::vector<std::string>& rest) const {
  // `--logdir=$UNSET python x.py`: CLI11 would take the next word as the value.
  auto program = program_ ? front.end() - std::ptrdiff_t(rest.size()) : front.end();
  for (const Flag& flag : flags_)
    if (std::find(front.begin(), program, flag.name + "=") != program) refuse_empty(flag.name);
  for (const std::string& word : rest) {
    if (word.size() > 1 && word[0] == '-') refuse_unknown(word, flags_);
    if (program_) break;  // the other words are the program's arguments
  }
}

void Arguments::set_flags(const CLI::App& app) const {
  for (const Flag& flag : flags_) {
    const CLI::results_t& typed = app.get_option(flag.name)->results();
    if (typed.empty()) continue;
    std::string text = typed.back();
    if (text.empty()) refuse_empty(flag.name);
    if (flag.takes == Flag::Takes::nothing && text != "true") throw Error(Fault::usage, flag.name + " takes no value");
    if (flag.takes != Flag::Takes::value) text = text == "true" ? "1" : text == "false" ? "0" : text;
    flag.set(text);
  }
}

void Arguments::set_operands(std::vector<std::string> rest) {
  if (rest.size() < least_) throw Error(Fault::usage, "an argument is missing: give " + operand_usage());
  if (auto at = std::find(rest.begin(), rest.end(), kSeparator); second_ && at != rest.end()) {
    if (std::find(at + 1, rest.end(), kSeparator) != rest.end())
      throw Error(Fault::usage, separator_ + " is given twice");
    if (at == rest.begin() || at + 1 == rest.end())
      throw Error(Fault::usage, separator_ + " needs " + operand_metavar_ + "... before it and after it");
    second_->assign(at + 1, rest.end());
    rest.erase(at, rest.end());
  }
  size_t most = operands_ ? (most_ ? most_ : rest.size()) : 0;
  if (rest.size() > most) throw Error(Fault::usage, "'" + rest[most] + "' is one argument too many");
  if (operands_) *operands_ = std::move(rest);
}

u32 number_of(const std::string& flag, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9)
    throw Error(Fault::usage, flag + " '" + text + "' is not a number");
  return static_cast<u32>(std::stoul(text));
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Levenshtein, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); j++) row[j] = j;
    for (size_t i = 1; i <= word.size(); i++) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); j++) {
        size_t above = row[j];
        row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (word[i - 1] != candidate[j - 1])});
        diagonal = above;
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string nearest_flag(const std::string& flag, const std::vector<std::string>& flags) {
  for (const std::string& part : parts_of(flag)) {
    std::vector<std::string> with;
    for (const std::string& candidate : flags)
      if (parts_of(candidate).contains(part)) with.push_back(candidate);
    if (with.size() == 1) return with[0];
  }
  return nearest(flag, flags);
}

}  // namespace tprof
