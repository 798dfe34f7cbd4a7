// What the analysing commands work on: traces, recordings, and directories of them, one Model at a time.
//
// A directory's traces are read; its recordings only for windows that have no trace yet (by the code of `tprof
// convert`, into a directory that goes when the command ends).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kineto/directory.h"
#include "kineto/read.h"

namespace tprof {

using Input = kineto::TraceFile;

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
  // Throws Error(kExitUnreadable) when a path holds nothing to analyse. What is left out is said on stderr.
  explicit Inputs(const std::vector<std::string>& paths);

  const std::vector<Input>& all() const { return all_; }

  // One after the other, in their order; the next ones are read meanwhile (see read_ahead.h). What cannot be read, or
  // that `use` throws an Error for, is said on stderr. The exit code: kExitOk, kExitPartial, or kExitUnreadable when
  // nothing could be read. `plugin`: also what --plugin-compat needs.
  using Use = std::function<void(const Input& input, const Model& model, const PluginTrace& plugin)>;
  int each(bool plugin, const Use& use);

 private:
  void add(const std::string& path);
  std::string convert(const std::string& path, bool named);
  void convert_into(const std::string& into, const std::string& path, u64 begin, bool named);

  std::vector<Input> all_;
  Scratch scratch_;
  size_t converted_ = 0;
  bool partial_ = false;
};

}  // namespace tprof
