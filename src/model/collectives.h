// Finds the collectives that ran on the CPU: which operator started each, which label of the backend shows how long it
// took, for which process group it was, and which number it has there.
#pragma once
#include <functional>
#include <string_view>

#include "model/trace.h"

namespace tprof {

// Whether an operator of torch.distributed, as model/collectives.def or a backend names it, moves data from one rank to
// another one, and has no place in the order of its group's collectives.
inline bool is_transfer(std::string_view collective) { return collective == "send" || collective.starts_with("recv"); }

// A process group as the program had it at a moment.
struct GroupMark {
  u64 address = 0;  // as the inputs of operators have it
  i64 ns = 0;       // on the clock of events
  i64 sequence = -1;
  u32 size = 0;
  u32 name = 0, description = 0, ranks = 0;  // indices into Model::names
};

// Appends to Model::collectives, after nest_events(). `marks` in order of time. `labels`: the events that show a
// collective each, where that is known; else all labels of backends are looked at.
void find_collectives(Model& model, const std::vector<GroupMark>& marks = {}, const std::vector<u32>& labels = {});

}  // namespace tprof
