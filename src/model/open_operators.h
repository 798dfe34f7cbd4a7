// What a thread was in at a moment: its innermost operator.
#pragma once
#include <vector>

#include "model/trace.h"

namespace tprof {

class OpenOperators {
 public:
  explicit OpenOperators(const Model& model);
  // Index into Model::events, kNone: there was none. `thread`: index into Model::threads.
  u32 at(u32 thread, i64 ns) const;

 private:
  const Model& model_;
  std::vector<std::vector<u32>> operators_;  // by thread, in order of begin
};

}  // namespace tprof
