// Collectives over the ranks of a job: who waits for whom, and how fast data moves.
//
// Which calls are the same collective is found by matching.h. All ranks leave a collective together, so the shortest
// duration is the transfer, and the rest of a longer one is waiting for the last rank. No clocks are compared, except
// for the skew of starts, which across hosts is as accurate as their clocks. send, recv and all-to-all with uneven
// parts do not wait for all ranks: their times are not divided.
//
// Collectives may overlap (gloo runs several, and counts from when one is requested). A moment in which a rank waits in
// several of them counts once, for the wait that started first.
#pragma once
#include <map>
#include <string>

#include "analysis/ranks/distributed_view.h"

namespace tprof {

// Calls of one operator in one group, over all ranks.
struct CommunicationRow {
  std::string op, group;
  u64 calls = 0;        // of all ranks
  u64 collectives = 0;  // matching calls of several ranks count once
  i32 ranks = 1;
  i64 total_ns = 0, transfer_ns = 0;  // of all calls; the rest of total_ns is waiting
  i64 bytes = 0;                      // of all collectives whose size is known
  u64 unknown_size = 0;
  i64 longest_skew_ns = 0;
  double alg_gbps = -1;    // bytes / transfer time, 10^9 per second; -1 not known
  double bus_gbps = -1;    // alg_gbps * what the algorithm must move per byte: all-reduce 2 (n-1)/n, others (n-1)/n
  bool waits = true;       // false: transfer_ns is total_ns, nothing is known of waiting
  bool call_only = false;  // there are calls without a kernel: the skew is that of the calls
};

enum class Straggler : u8 { unknown, no, yes };  // unknown: not enough evidence

struct RankWait {
  u32 rank;              // index into the ranks
  i64 wait_ns = 0;       // in collectives, for others
  i64 late_ns = 0;       // of the rank that waited longest for this one
  u32 for_rank = kNone;  // the one that it waits for longest, kNone: for none
  i64 for_rank_ns = 0;   // of wait_ns
  // Own time is the time of a step without waiting. Its excess over the median of the other ranks, on average over the
  // stretches that were compared; and in how many of these it was the longest.
  i64 excess_ns = 0;
  u64 slowest_in = 0;
  Stage excess_in = Stage::python;  // the stage with the largest excess, and that per step; 0: not known
  i64 excess_in_ns = 0;
  // How much later it leaves collectives than the first one of its machine's clock, over the median of the others; per
  // stretch, and in how many of these it was the last.
  i64 late_leave_ns = 0;
  u64 last_out_in = 0;
  bool leaves_late = false;  // so its own collectives are what keeps the others waiting
  // Of the median of the other ranks: its operators and the elements of their inputs; < 0: not known.
  double more_operators = -1, more_elements = -1;
  Straggler straggler = Straggler::unknown;
};

// When a rank was in collectives; on the clock of its calls.
struct CollectiveTimes {
  IntervalSet calls;
  IntervalSet waiting;    // for others
  IntervalSet undivided;  // in calls that not every rank's trace has, or that do not wait for all
};

struct Distributed {
  std::vector<CommunicationRow> rows;     // most time first
  std::vector<RankOperation> operations;  // the same, rank by rank
  std::vector<CollectiveTimes> times;     // by rank
  std::vector<RankWait> waits;            // by rank; empty with one rank
  u64 unmatched = 0;                      // calls that not every rank of the group has in its trace
  u64 call_only = 0;                      // calls of NCCL without a kernel
  u64 compared = 0;  // stretches of time in which ranks were compared: steps, or parts of the trace
  bool compared_steps = false;
  i64 stretch_ns = 0;            // of one of them, on average
  std::vector<StageRow> stages;  // in the order of a step; empty: the ranks have no steps in common
  std::vector<std::string> notes;
};
Distributed distributed(const std::vector<Rank>& ranks);

// What the traces of all ranks show about one of them, for analyses that see one Model.
struct RankFacts {
  i64 wait_ns = -1;      // in collectives, for others; -1 not known
  std::string for_rank;  // the rank it waits for most; empty: none in particular
};
RankFacts facts_of(const Distributed& distributed, const std::vector<Rank>& ranks, const std::string& worker);

}  // namespace tprof
