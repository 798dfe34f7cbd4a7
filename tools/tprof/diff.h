// One side of a comparison, filled while its traces are read: by `tprof diff`, and by `tprof report A --vs B`.
#pragma once
#include <set>

#include "analysis/diff/diff.h"
#include "analysis/diff/flame.h"
#include "input/inputs.h"
#include "stats_words.h"

namespace tprof {

class DiffSideReader {
 public:
  // The traces that will be added if they can be read. Throws Error(Fault::usage) if one is given twice.
  void expect(const std::vector<Input>& inputs);
  // `path`: the file or directory that the user gave.
  void add(const std::string& path, const Input& input, const Model& model);
  // Its flame graphs, which few need.
  void add_flames(const std::string& path, const Input& input, const StatsSubject& stats);
  DiffSide finish();
  const FlameSide& flames() const { return flames_; }

 private:
  DiffSide side_;
  FlameSide flames_;
  std::set<std::string> seen_;
};

}  // namespace tprof
