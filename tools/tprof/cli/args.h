// The command line of a tprof command, as a table. A command adds its flags and operands, parse() fills them with the
// help of CLI11, and the help, man pages and completions are printed from the same table (docs.h).
//
// Only args.cpp includes CLI11, which takes seconds to compile.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/string_once.h"
#include "base/types.h"

namespace CLI {
class App;
}

namespace tprof {

struct Flag {
  // optional_01: --name, --name=0|1 or --no-name
  enum class Takes { nothing, value, optional_01 };
  std::string name;     // --logdir
  std::string alias;    // -o, or empty
  std::string metavar;  // DIR or [=0|1], as help shows it; empty when it takes nothing
  std::string help;
  Takes takes = Takes::value;
  // Called with the last value that was typed, or "1" if the flag has none; may throw Error(Fault::usage). Flags are
  // set in the order of the table.
  std::function<void(const std::string&)> set;
  std::vector<std::string> choices = {};  // completion offers these as its value, or as the start of it
  std::string alone = {};                 // the value if none of `choices` follows; empty: a value must follow
};

class Arguments {
 public:
  void toggle(const std::string& name, const std::string& alias, const std::string& help, bool& out);
  void value(const std::string& name, const std::string& alias, const std::string& metavar, const std::string& help,
             std::string& out);
  // `choices` are offered by completion; the command itself checks the value.
  void choice(const std::string& name, const std::string& metavar, const std::string& help,
              std::vector<std::string> choices, std::string& out);
  void add(Flag flag) { flags_.push_back(std::move(flag)); }

  // The words that are not flags, between `least` and `most` of them. `most` = 0: any number.
  void operands(const std::string& metavar, const std::string& help, size_t least, size_t most,
                std::vector<std::string>& out);
  // The operands after the word `separator` (--vs) go into `out`; there must be at least one on each side.
  void operands_after(const std::string& separator, const std::string& help, std::vector<std::string>& out);
  // From the first operand (or "--") on, all words are a program and its arguments.
  void program(std::vector<std::string>& out);

  // Throws Error(Fault::usage) with one line. `words` does not contain the name of the command.
  void parse(const std::vector<std::string>& words);

  const std::vector<Flag>& flags() const { return flags_; }
  std::string operand_usage() const;
  const std::string& operand_help() const { return operand_help_; }
  bool takes_program() const { return program_ != nullptr; }

 private:
  std::vector<std::string> with_values(std::vector<std::string> words) const;
  void declare_to(CLI::App& app) const;
  void check_spelling(const std::vector<std::string>& front, const std::vector<std::string>& rest) const;
  void set_flags(const CLI::App& app) const;
  void set_operands(std::vector<std::string> rest);

  std::vector<Flag> flags_;
  std::string operand_metavar_, operand_help_;
  size_t least_ = 0, most_ = 0;
  std::vector<std::string>* operands_ = nullptr;
  std::string separator_;
  std::vector<std::string>* second_ = nullptr;  // operands after the separator
  std::vector<std::string>* program_ = nullptr;
};

// The whole number that a flag was given; throws Error(Fault::usage).
u32 number_of(const std::string& flag, const std::string& text);

// The candidate that is most like `word`, or "" if none is similar (for "did you mean").
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// The option that alone shares a part with `flag` (--with-memory: --profile-memory), or else the nearest one.
std::string nearest_flag(const std::string& flag, const std::vector<std::string>& flags);

}  // namespace tprof
