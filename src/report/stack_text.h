// Call stacks as texts of tables.
#pragma once
#include <string>
#include <vector>

#include "model/trace.h"

namespace tprof {

// Frames, indices into Model::stacks, one per line as they come.
inline std::string stack_text(const Model& model, const std::vector<u32>& frames) {
  std::string out;
  for (u32 frame : frames) out += (out.empty() ? "" : "\n") + model.names[model.stacks[frame].text];
  return out;
}

}  // namespace tprof
