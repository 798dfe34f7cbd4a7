// The critical path of a job: what the steps of all ranks together could not have been shorter than.
//
// Walked backward from the end of the step of the rank that takes longest. What a rank did after its last collective is
// on the path; the collective leads to the rank that arrived last in it, for the time that data moved (its shortest
// call), and the walk goes on at the moment at which that rank entered it. Each moment is on the clock of the rank
// where it is looked at, so no clocks are compared.
#pragma once
#include "analysis/ranks/matching.h"

namespace tprof {

struct JobPathRow {
  u32 rank = 0;    // index into the ranks: whose work it is, or who arrived last
  std::string op;  // the collective; empty: the rank's own work
  i64 ns = 0;      // of all steps
  u64 pieces = 0;
};

struct JobPath {
  std::vector<JobPathRow> rows;  // most time first
  u64 steps = 0;                 // that all ranks have; 0: none, and there is no path
  i64 total_ns = 0;
  u64 changes = 0;  // how often it goes from one rank to another
};
JobPath job_path(const std::vector<Rank>& ranks);

}  // namespace tprof
