// Collectives over the ranks of a job: who waits for whom, and how fast data moves.
//
// The same collective is found on every rank by its group and sequence number where the trace has them, else by its
// place among the calls of its name in its group. All ranks leave a collective together, so the shortest duration is
// the transfer, and what a rank spends beyond it is waiting for the last one: no clocks are compared. Only the skew of
// begins does, across hosts as good as their clocks. send, recv and all-to-all with uneven parts do not wait for
// everybody: they are summed as they are.
#pragma once
#include <map>
#include <string>

#include "analysis/exposed.h"

namespace tprof {

struct CollectiveCall {
  std::string op;     // "allreduce", "nccl:all_reduce" ... as the trace calls it
  std::string group;  // empty: not known
  i64 sequence = -1;  // in its group; -1 not known
  i64 bytes = -1;     // of the larger of input and output; -1 not known
  i32 ranks = -1;     // in its group; -1 not known
  i64 begin_ns = 0;   // CLOCK_REALTIME
  i64 dur_ns = 0;
};

// What is kept of a rank's Model.
struct Rank {
  std::string name;
  size_t steps = 0;
  i64 span_ns = 0;  // of the steps
  // HTA's and the plugin's overlap, summed over the devices: computation without communication beside it, both, and so
  // on.
  i64 computation_ns = 0, overlap_ns = 0, communication_ns = 0, other_ns = 0;
  bool on_gpu = false;  // false: communication on the CPU (gloo); the ranges of its operators
  std::vector<CollectiveCall> calls;
};
Rank rank_of(const Model& model, const std::string& name);

// Calls of one operator in one group, over all ranks.
struct CommunicationRow {
  std::string op, group;
  u64 calls = 0;           // of all ranks
  u64 collectives = 0;     // calls that belong together count once
  i32 ranks = 1;
  i64 total_ns = 0, transfer_ns = 0;  // of all calls; the rest of total_ns is waiting
  i64 bytes = 0;           // of all collectives whose size is known
  u64 unknown_size = 0;
  i64 longest_skew_ns = 0;
  double alg_gbps = -1;    // bytes / transfer time, 10^9 per second; -1 not known
  double bus_gbps = -1;    // alg_gbps * what the algorithm must move per byte: all-reduce 2 (n-1)/n, others (n-1)/n
  bool waits = true;       // false: transfer_ns is total_ns, nothing is known of waiting
};

struct RankWait {
  u32 rank;               // index into the ranks
  i64 wait_ns = 0;        // in collectives, for others
  // Sum over collectives of what the one that waited longest waited for this rank beyond its own wait.
  i64 late_ns = 0;
  double late_z = 0;      // robust z over the ranks: 0.6745 (x - median) / MAD
  bool straggler = false; // late_z > kStragglerZ and late_ns > kStragglerShare of its steps
};
constexpr double kStragglerZ = 3.5;
constexpr double kStragglerShare = 0.01;

struct Distributed {
  std::vector<CommunicationRow> rows;  // most time first
  std::vector<RankWait> waits;         // by rank; empty with one rank
  u64 unmatched = 0;                   // calls that not every rank of the group has in its trace
  std::vector<std::string> notes;
};
Distributed distributed(const std::vector<Rank>& ranks);

}  // namespace tprof
