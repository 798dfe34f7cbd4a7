// The inputs of the analysing commands: traces, recordings, and directories of them, read as one Model at a time.
//
// In a directory, traces are read, and recordings only for windows that have no trace yet. Recordings are converted by
// the code of `tprof convert` into a temporary directory.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/basis/rule_set.h"
#include "input/read_ahead.h"
#include "kineto/read/directory.h"
#include "kineto/read/read.h"
#include "report/table.h"

namespace tprof {

using Input = kineto::TraceFile;

// How tables name an input. By the plugin's rules it has no rank.
Source source_of(const Input& input, const Model& model, RuleSet rules = RuleSet::tprof);

// The traces of a directory, without its subdirectories. Files that are skipped are named on stderr.
std::vector<std::string> traces_in(const std::string& directory);

// The number of workers of each run, as the plugin counts them.
std::map<std::string, size_t> workers_of(const std::vector<Input>& inputs);

// A temporary directory, created when it is first needed and removed at the end of the command, whatever ends it.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  const std::string& path();

 private:
  void remove_at_end();

  std::string path_;
  int ours_ = -1;     // the end of a pipe that closes with this process
  int remover_ = -1;  // waits for that
};

class Inputs {
 public:
  // Throws Error(Fault::unreadable) if a path holds nothing to analyse. What is left out is named on stderr. By the
  // plugin's rules, only files of a directory whose names the plugin accepts are read.
  explicit Inputs(const std::vector<std::string>& paths, RuleSet rules = RuleSet::tprof);
  // Traces of which run, worker and span are known.
  explicit Inputs(std::vector<Input> traces) : rules_(RuleSet::tprof), all_(std::move(traces)) {}

  const std::vector<Input>& all() const { return all_; }
  // How many inputs of all() came from the first `paths` paths. Valid before each() is called.
  size_t given_by(size_t paths) const { return paths ? ends_[paths - 1] : 0; }

  // Leaves out those for which `is_done` is true: what is to be known of them is known.
  template <class IsDone>
  void leave_out(IsDone is_done) {
    std::erase_if(all_, is_done);
  }

  // Of the traces only the one that is used is in memory: for commands that promise how much they need.
  void read_one_at_a_time() { ahead_ = 0; }

  // Calls `use` for each input in order, while the next ones are read (see read_ahead.h). Inputs that cannot be read,
  // or for which `use` throws an Error, are named on stderr and removed from all(). Returns kExitOk, kExitPartial, or
  // kExitUnreadable if nothing could be read. `plugin`: also read what --plugin-compat needs.
  using Use = std::function<void(const Input& input, const Model& model, const PluginTrace& plugin)>;
  int each(bool plugin, const Use& use);

 private:
  void add(const std::string& path);
  std::string convert(const std::string& path, bool named);
  void convert_into(const std::string& into, const std::string& path, u64 begin, bool named);

  RuleSet rules_;
  size_t ahead_ = ReadAhead::kMaxReaders;
  std::vector<Input> all_;
  std::vector<size_t> ends_;  // for each path, the end of its inputs in all_
  Scratch scratch_;
  size_t converted_ = 0;
  bool nested_said_ = false;  // nested spans are reported once, even if a command reads all inputs twice
  bool partial_ = false;
};

}  // namespace tprof
