// The innermost operator of a thread at a moment, for moments that come in order of time.
#pragma once
#include "model/trace.h"

namespace tprof {

class Innermost {
 public:
  explicit Innermost(const Model& model);

  // Index into Model::events, -1 none. Labels, steps and Python calls are passed over. Moments of one thread must not
  // go back.
  i32 at(u32 thread, i64 ns);

 private:
  const Model& model_;
  std::vector<std::vector<u32>> events_;  // by thread, in order of begin
  std::vector<size_t> next_;              // by thread: the first that has not begun
};

// A range that is an operator: no label, no step, no Python call.
bool is_operator(const Event& event);

}  // namespace tprof
