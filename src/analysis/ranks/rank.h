// What is kept of each process of a job after its Model was read: its collectives, its steps, and where their time
// went.
#pragma once
#include <string>

#include "analysis/ranks/collective_calls.h"
#include "analysis/ranks/stages.h"
#include "analysis/time/overview.h"

namespace tprof {

// HTA's and the plugin's overlap: computation alone, computation and communication, communication alone, neither.
// Summed over the devices of the process (the plugin treats them as one). Without GPU work the operators are the
// computation, as in the plugin.
struct Overlap {
  i64 computation_ns = 0, overlap_ns = 0, communication_ns = 0, other_ns = 0;
};

// One step of a rank; its time as that of calls.
struct RankStep {
  std::string name;
  Interval time;
  StageTimes stages{};
  Overlap overlap;
};

struct Rank : Overlap {              // of its steps
  std::string worker;                // as its file is called
  i32 number = -1, world_size = -1;  // in the job, as torch.distributed counts; -1 not known
  std::string recorded;              // which ranks of the job were to be recorded, as --ranks lists them; empty: all
  std::vector<RankStep> steps;       // those that count; one for the whole trace if it has none
  bool has_steps = false;
  i64 span_ns = 0;                    // of the steps
  bool on_gpu = false;                // false: communication on the CPU (gloo); the ranges of its operators
  std::vector<CollectiveCall> calls;  // in order of begin
  std::string host, boot;  // the machine and its boot, which ranks with the same clock share; empty: not known
  u32 pid = 0;
  std::vector<GpuFigures> gpus;
  WorkAmount work;

  // The worker where the number is not known.
  std::string text() const { return number < 0 ? worker : rank_text(number, host); }
};
Rank rank_of(const Model& model, const std::string& worker);

// Sorts them by number. Where some have one, processes without one are no ranks: launchers, servers of addresses,
// evaluations of their own. They are removed; returns how many. Else all stay, by worker.
size_t keep_ranks(std::vector<Rank>& ranks);

// A sentence if the ranks did not make the same steps; empty: they did, or some have no steps.
std::string uneven_steps(const std::vector<Rank>& ranks);

}  // namespace tprof
