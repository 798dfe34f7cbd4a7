// The members of groups of NCCL, which no trace lists: each rank knows only its own number in the group.
#pragma once
#include "analysis/ranks/rank.h"

namespace tprof {

// Fills in CollectiveCall::group_ranks where the traces of all members are here. Elsewhere the peers of calls, which
// are numbers in the group, are forgotten: as numbers of the job they would be wrong.
void learn_groups(std::vector<Rank>& ranks);

}  // namespace tprof
