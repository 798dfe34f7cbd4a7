// What is kept of the Model of one process of a job when the next one is read: its collectives, its steps, and where
// their time went.
#pragma once
#include <string>

#include "analysis/ranks/collective_calls.h"
#include "analysis/time/overview.h"

namespace tprof {

// HTA's and the plugin's overlap: computation without communication beside it, both, communication alone, neither.
// Summed over the devices of the process (the plugin takes them for one). Of a process without GPU work computation is
// its operators, as in the plugin.
struct Overlap {
  i64 computation_ns = 0, overlap_ns = 0, communication_ns = 0, other_ns = 0;
};

// One step of a rank; its time as that of calls.
struct RankStep {
  std::string name;
  Interval time;
  CategoryTimes by{};  // us
  Overlap overlap;
};

struct Rank : Overlap {              // of its steps
  std::string worker;                // as its file is called
  i32 number = -1, world_size = -1;  // in the job, as torch.distributed counts; -1 not known
  std::vector<RankStep> steps;       // that count; one of everything where the trace has none
  bool has_steps = false;
  i64 span_ns = 0;                    // of the steps
  bool on_gpu = false;                // false: communication on the CPU (gloo); the ranges of its operators
  std::vector<CollectiveCall> calls;  // in order of begin
  std::string host;                   // empty: not known
  u32 pid = 0;
  std::vector<GpuFigures> gpus;

  // "rank 3", or the worker where that is not known.
  std::string text() const { return number < 0 ? worker : "rank " + std::to_string(number); }
};
Rank rank_of(const Model& model, const std::string& worker);

// As people count them: by number, those without one behind, by worker.
void sort_ranks(std::vector<Rank>& ranks);

}  // namespace tprof
