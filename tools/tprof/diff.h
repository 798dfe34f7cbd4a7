// One side of a comparison, filled while its traces are read: by `tprof diff`, and by `tprof report A --vs B`.
#pragma once
#include <set>

#include "analysis/diff/diff.h"
#include "input/inputs.h"

namespace tprof {

class DiffSideReader {
 public:
  // What add() will be given, as far as it can be read. Throws Error(Fault::usage) for a trace that is there twice.
  void expect(const std::vector<Input>& inputs);
  // `path`: as it was given, a file or a directory.
  void add(const std::string& path, const Input& input, const Model& model);
  DiffSide finish();

 private:
  DiffSide side_;
  std::set<std::string> seen_;
};

}  // namespace tprof
