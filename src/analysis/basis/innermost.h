// The innermost operator of a thread at a given time, for queries in order of time.
#pragma once
#include "model/trace.h"

namespace tprof {

class Innermost {
 public:
  explicit Innermost(const Model& model);

  // Index into Model::events, -1: none. Labels, steps and Python calls are skipped. Times must not decrease within a
  // thread.
  i32 at(u32 thread, i64 ns);

 private:
  const Model& model_;
  std::vector<std::vector<u32>> events_;  // by thread, in order of start
  std::vector<size_t> next_;              // by thread: the first that has not started
};

// Whether a range is an operator, and not a label, a step or a Python call.
bool is_operator(const Event& event);

}  // namespace tprof
