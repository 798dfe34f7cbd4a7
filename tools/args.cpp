#include "args.h"

#include <algorithm>

#include "base/error.h"

namespace tprof {

void Arguments::toggle(const std::string& name, const std::string& alias, const std::string& help,
                       bool& out) {
  add({name, alias, "", help, Flag::Takes::nothing, [&out](const std::string&) { out = true; }});
}

void Arguments::value(const std::string& name, const std::string& alias, const std::string& metavar,
                      const std::string& help, std::string& out) {
  add({name, alias, metavar, help, Flag::Takes::value, [&out](const std::string& text) { out = text; }});
}

void Arguments::operands(const std::string& metavar, const std::string& help, size_t least, size_t most,
                         std::vector<std::string>& out) {
  operand_metavar_ = metavar;
  operand_help_ = help;
  least_ = least;
  most_ = most;
  operands_ = &out;
}

void Arguments::program(std::vector<std::string>& out) { program_ = &out; }

std::string Arguments::operand_usage() const {
  if (program_) return "[--] PROGRAM [ARGUMENT...]";
  if (operand_metavar_.empty()) return "";
  std::string text = operand_metavar_ + (most_ == 1 ? "" : "...");
  return least_ ? text : "[" + text + "]";
}

void Arguments::parse(const std::vector<std::string>& words) {
  size_t i = 0;
  std::vector<std::string> found;
  bool only_operands = false;
  for (; i < words.size(); i++) {
    const std::string& word = words[i];
    if (only_operands || word.size() < 2 || word[0] != '-') {
      if (program_) break;
      found.push_back(word);
      continue;
    }
    if (word == "--") {
      only_operands = true;
      if (!program_) continue;
      i++;
      break;
    }
    // --name=value, -oVALUE, --name value
    bool is_long = word[1] == '-', has_value = false;
    std::string name = word, text;
    size_t cut = is_long ? word.find('=') : 2;
    if (cut != std::string::npos && cut < word.size()) {
      name = word.substr(0, cut);
      text = word.substr(is_long ? cut + 1 : cut);
      has_value = true;
    }
    bool negated = false;
    const Flag& flag = find(name, negated);
    if (flag.takes == Flag::Takes::nothing || negated) {
      if (has_value) throw Error(kExitUsage, word + ": " + name + " takes no value");
      flag.set(negated ? "0" : "");
    } else if (flag.takes == Flag::Takes::optional_01) {
      if (!has_value && i + 1 < words.size() && (words[i + 1] == "0" || words[i + 1] == "1"))
        text = words[++i];
      else if (!has_value)
        text = "1";
      flag.set(text);
    } else {
      if (!has_value) {
        if (i + 1 >= words.size() || words[i + 1] == "--")
          throw Error(kExitUsage, name + " needs a value: " + name + " " + flag.metavar);
        text = words[++i];
      }
      if (text.empty()) throw Error(kExitUsage, name + " is given an empty value; leave it out instead");
      flag.set(text);
    }
  }
  if (program_) {
    program_->assign(words.begin() + i, words.end());
    return;
  }
  if (found.size() < least_) throw Error(kExitUsage, "what to work on is missing: give " + operand_usage());
  size_t most = operands_ ? (most_ ? most_ : found.size()) : 0;
  if (found.size() > most) throw Error(kExitUsage, "'" + found[most] + "' is one argument too many");
  if (operands_) *operands_ = found;
}

const Flag& Arguments::find(const std::string& name, bool& negated) const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) {
    if (name == flag.name || (!flag.alias.empty() && name == flag.alias)) return flag;
    if (flag.takes == Flag::Takes::optional_01 && name == "--no-" + flag.name.substr(2)) {
      negated = true;
      return flag;
    }
    names.push_back(flag.name);
  }
  std::string near = nearest(name, names);
  throw Error(kExitUsage,
              "unknown option " + name + (near.empty() ? "; see --help" : "; did you mean " + near + "?"));
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

}  // namespace tprof
