// Command lines of every tprof command, as a table: a command adds its flags and operands, parse() fills
// them, and help, man page and completions are printed from the same table (docs.h).
//
// An own parser of a few lines because everything behind `tprof run`'s options belongs to another program and
// must be handed on untouched: "-- PROGRAM", empty words and "[...]" included.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tprof {

struct Flag {
  enum class Takes { nothing, value, optional_01 };
  std::string name;     // --logdir
  std::string alias;    // -o, or empty
  std::string metavar;  // DIR; empty when it takes nothing
  std::string help;
  Takes takes = Takes::value;
  std::function<void(const std::string&)> set;  // may throw Error(kExitUsage); gets "" when it takes nothing
};

class Arguments {
 public:
  void toggle(const std::string& name, const std::string& alias, const std::string& help, bool& out);
  void value(const std::string& name, const std::string& alias, const std::string& metavar,
             const std::string& help, std::string& out);
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  // What is no flag. `most` = 0: any number.
  void operands(const std::string& metavar, const std::string& help, size_t least, size_t most,
                std::vector<std::string>& out);
  // From the first operand (or "--") on, all words are a program and its arguments.
  void program(std::vector<std::string>& out);

  // Throws Error(kExitUsage) with one line. `words` excludes the command's own name.
  void parse(const std::vector<std::string>& words);

  const std::vector<Flag>& flags() const { return flags_; }
  std::string operand_usage() const;
  const std::string& operand_help() const { return operand_help_; }
  bool takes_program() const { return program_ != nullptr; }

 private:
  const Flag& find(const std::string& name, bool& negated) const;

  std::vector<Flag> flags_;
  std::string operand_metavar_, operand_help_;
  size_t least_ = 0, most_ = 0;
  std::vector<std::string>* operands_ = nullptr;
  std::vector<std::string>* program_ = nullptr;
};

// The candidate most like `word`, or "" when none is near (for "did you mean").
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tprof
