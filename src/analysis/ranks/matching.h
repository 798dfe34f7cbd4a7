// Which calls of collectives belong together over the ranks of a job.
//
// Calls of the same group and sequence number are one collective, if every call of the group has a number. Else calls
// are counted: over the whole trace if every rank that calls an operator in a group calls it equally often and all have
// the same steps, else within the steps of the same number. So what a rank lacks in one step leaves the calls of other
// steps as they are. Where there are no steps to count in, and where the times of one machine contradict what was
// counted, calls stay alone.
//
// The n-th send of one rank to another belongs to the n-th recv of that one from it. Each stays an entry of its own.
// From whom a recv from any source came is not known; nothing is missing if a rank made as many as were sent to it
// beyond what it received from known ranks.
#pragma once
#include <optional>

#include "analysis/ranks/rank.h"

namespace tprof {

struct MatchedCall {
  u32 rank;  // index into the ranks
  const CollectiveCall* call;
};

struct MatchedCalls {
  std::string group, op;
  std::vector<MatchedCall> members;  // in order of ranks
  bool complete = false;             // the trace of every rank that takes part has it, be it one
  bool by_number = false;            // false: counted
};

// The numbers in "[0, 2]".
std::vector<i32> rank_numbers(std::string_view text);
// The members of a call's group as numbers of the job; empty: not known.
std::vector<i32> group_members(const CollectiveCall& call);
// CollectiveCall::peer as a number of the job, -1 not known.
i32 peer_of(const CollectiveCall& call);

// By group, operator and number. The ranks must outlive the result.
std::vector<MatchedCalls> match_calls(const std::vector<Rank>& ranks);

// How long data moved in each of the calls, without waiting for other ranks: the shortest one. Nothing: not known.
std::optional<i64> transfer_of(const MatchedCalls& calls);

// What kind of exchange an operator is, by its name.
bool waits_for_all(const std::string& op);  // false: send, recv, all-to-all with uneven parts
// No rank can leave it before the last one has entered it, since each needs data of all.
bool needs_all(const std::string& op);
bool moves_data(const std::string& op);  // false: a barrier
// Lower-case letters only: "nccl:_all_reduce", "ALLREDUCE" and "allreduce" all contain "allreduce".
std::string plain_name(std::string_view op);

}  // namespace tprof
