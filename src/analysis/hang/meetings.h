// Where ranks meet: the first collective of each process group that a rank has begun and not completed, who is in it,
// and who has not come.
//
// The calls of a group are matched by number, as torch counts them; where the number of a call is not known, by the
// step and which call of the group it is there. Of calls that nobody knows to be completed (NCCL), the first one counts
// that not all ranks have made. Transfers between two ranks have no place in this order: a rank in a recv waits for its
// peer.
#pragma once
#include "analysis/hang/facts.h"

namespace tprof::hang {

enum class Differ { nothing, kinds, sizes };  // in what the calls differ

struct Meeting {
  std::string group;                // its name; empty: not known
  std::string collective;           // "allreduce 6 of group 0"
  std::vector<u32> waiting;         // indices of ranks: in it
  std::vector<u32> late;            // have not begun it
  Differ differ = Differ::nothing;  // those who are in it
  std::string calls;                // what they are in, if they differ
};

// In order of groups. Only of ranks that are recorded at present; a member of which nothing is known is late unless its
// stack says that it waits for others.
std::vector<Meeting> meetings_of(const Job& job);

// Whether the stack of the rank's main thread says that it waits for other ranks.
bool waits_for_peers(const Rank& rank);

// "allreduce 6", or "allreduce 2 of step 12".
std::string call_text(const RecentCollective& call);

}  // namespace tprof::hang
