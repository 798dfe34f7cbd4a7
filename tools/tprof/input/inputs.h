// What the analysing commands work on: traces, recordings, and directories of them, one Model at a time.
//
// A directory's traces are read; its recordings only for windows that have no trace yet (by the code of `tprof
// convert`, into a directory that goes when the command ends).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/basis/rule_set.h"
#include "kineto/read/directory.h"
#include "kineto/read/read.h"
#include "report/table.h"

namespace tprof {

using Input = kineto::TraceFile;

// The plugin does not know ranks.
Source source_of(const Input& input, const Model& model, RuleSet rules = RuleSet::tprof);

// The traces of a directory, not below it; what is skipped is said on stderr.
std::vector<std::string> traces_in(const std::string& directory);

// By run: what the plugin calls its number of workers.
std::map<std::string, size_t> workers_of(const std::vector<Input>& inputs);

// A directory for what lives no longer than the command; made when first asked for.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  const std::string& path();

 private:
  std::string path_;
};

class Inputs {
 public:
  // Throws Error(Fault::unreadable) when a path holds nothing to analyse. What is left out is said on stderr.
  // By the plugin's rules, directories have only what it would take by its name.
  explicit Inputs(const std::vector<std::string>& paths, RuleSet rules = RuleSet::tprof);

  const std::vector<Input>& all() const { return all_; }
  // How many of all() the first so many paths gave, before each().
  size_t given_by(size_t paths) const { return paths ? ends_[paths - 1] : 0; }

  // One after the other, in their order; the next ones are read meanwhile (see read_ahead.h). What cannot be read, or
  // that `use` throws an Error for, is said on stderr. The exit code: kExitOk, kExitPartial, or kExitUnreadable when
  // nothing could be read; all() is what could. `plugin`: also what --plugin-compat needs.
  using Use = std::function<void(const Input& input, const Model& model, const PluginTrace& plugin)>;
  int each(bool plugin, const Use& use);

 private:
  void add(const std::string& path);
  std::string convert(const std::string& path, bool named);
  void convert_into(const std::string& into, const std::string& path, u64 begin, bool named);

  RuleSet rules_;
  std::vector<Input> all_;
  std::vector<size_t> ends_;  // in all_, by path
  Scratch scratch_;
  size_t converted_ = 0;
  bool nested_said_ = false;  // once, though a command may read all of it twice
  bool partial_ = false;
};

}  // namespace tprof
