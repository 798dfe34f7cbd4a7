// Who sends how much to whom.
//
// send and recv name their peer. For collectives, what is counted is the data that must get from one rank to another,
// whatever way the library sends it: each rank's part to each other one. An all-reduce is a reduce-scatter and an
// all-gather. Ranks whose traces are not here take part if the group's members are known.
#pragma once
#include "analysis/ranks/matching.h"

namespace tprof {

struct Transfer {
  i32 from = -1, to = -1;  // numbers of ranks in the job
  u64 calls = 0;           // collectives, sends
  i64 bytes = 0;
};

struct CommunicationMatrix {
  std::vector<Transfer> transfers;  // by from and to
  u64 unknown = 0;                  // collectives of which the size, the kind or a rank is not known
};
CommunicationMatrix communication_matrix(const std::vector<Rank>& ranks);

}  // namespace tprof
