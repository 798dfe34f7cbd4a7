// Command lines of every tprof command, as a table: a command adds its flags and operands, parse() has CLI11
// read the words and fills them, and help, man page and completions are printed from the same table (docs.h).
//
// CLI11 is seen by args.cpp alone: including it takes a compiler seconds.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tprof {

struct Flag {
  // optional_01: --name, --name=0|1 or --no-name
  enum class Takes { nothing, value, optional_01 };
  std::string name;     // --logdir
  std::string alias;    // -o, or empty
  std::string metavar;  // DIR or [=0|1], as help shows it; empty when it takes nothing
  std::string help;
  Takes takes = Takes::value;
  // With the last value typed, "1" where none was; may throw Error(Fault::usage). Flags are set in table order.
  std::function<void(const std::string&)> set;
  std::vector<std::string> choices = {};  // words that completion offers as its value, or as its begin
};

class Arguments {
 public:
  void toggle(const std::string& name, const std::string& alias, const std::string& help, bool& out);
  void value(const std::string& name, const std::string& alias, const std::string& metavar, const std::string& help,
             std::string& out);
  // One of `choices`; that it is one the command checks.
  void choice(const std::string& name, const std::string& metavar, const std::string& help,
              std::vector<std::string> choices, std::string& out);
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  // What is no flag. `most` = 0: any number.
  void operands(const std::string& metavar, const std::string& help, size_t least, size_t most,
                std::vector<std::string>& out);
  // Operands behind this word are `out`'s, at least one.
  void operands_behind(const std::string& word, const std::string& help, std::vector<std::string>& out);
  // From the first operand (or "--") on, all words are a program and its arguments.
  void program(std::vector<std::string>& out);

  // Throws Error(Fault::usage) with one line. `words` excludes the command's own name.
  void parse(const std::vector<std::string>& words);

  const std::vector<Flag>& flags() const { return flags_; }
  std::string operand_usage() const;
  const std::string& operand_help() const { return operand_help_; }
  bool takes_program() const { return program_ != nullptr; }

 private:
  std::vector<Flag> flags_;
  std::string operand_metavar_, operand_help_;
  size_t least_ = 0, most_ = 0;
  std::vector<std::string>* operands_ = nullptr;
  std::string behind_word_;
  std::vector<std::string>* behind_ = nullptr;
  std::vector<std::string>* program_ = nullptr;
};

// The candidate most like `word`, or "" when none is near (for "did you mean").
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// Of options: the one that has a part in common with `flag` that no other has (--with-memory: --profile-memory), else
// the nearest.
std::string nearest_flag(const std::string& flag, const std::vector<std::string>& flags);

}  // namespace tprof
