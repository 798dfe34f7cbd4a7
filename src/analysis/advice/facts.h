// What the analyses found in one Model, computed once: the input of the advice's rules.
#pragma once
#include "analysis/basis/copies.h"
#include "analysis/basis/launches.h"
#include "analysis/ranks/distributed.h"
#include "analysis/tables/memory_peak.h"
#include "analysis/time/critical_path.h"
#include "analysis/time/exposed.h"
#include "analysis/time/flops.h"
#include "analysis/time/idle.h"
#include "analysis/time/variability.h"
#include "model/machine.h"

namespace tprof {

// A sentence that figures are unreliable, if the main thread waited for a CPU for more than kWaitsMuch of its time
// (-1: not known); else empty.
std::string busy_text(double waited);

struct Facts {
  // Both must outlive this.
  Facts(const Model& model, const std::vector<DevicePeak>& table);
  Facts(const Facts&) = delete;  // it points into itself

  const Model& model;
  NameClasses classes;
  Waits waits;
  Windows windows;
  Overview overview;
  std::vector<DeviceExposed> exposed;
  std::vector<IdleLane> lanes;
  Launches launches;
  std::vector<Copies> copies;
  std::vector<MemoryPeak> memory;
  Flops flops;
  Variability variability;
  std::vector<i64> device_ns;   // by event: GPU work launched in it and below it
  IntervalSet computing;        // a GPU runs a kernel: host time in here delays nothing
  std::vector<PathPiece> path;  // the critical paths of all steps, in order of time: the GPU work on them
  bool trains = false;          // gradients are computed or applied
  // The trace has optimizer steps and no backward pass: threads are missing from it.
  bool lacks_backward = false;
  // A CUDA graph is captured in the steps, which happens once and does not take the time of a replay.
  bool captures = false;
  // The trace is part of another one without most calls and their GPU work. Where the GPU idled is not known.
  bool is_excerpt = false;
  bool died_early = false;      // the program died in its first step
  bool replays_graphs = false;  // most of the GPU's work is launched as CUDA graphs

  RankFacts rank;               // set by the caller if it has read the job's other ranks as well
  std::vector<bool> exchanges;  // by Model::gpu: CollectiveCall::exchanges_gradients()
  // How much longer collectives took than others of the same kind that moved as many bytes, summed over those that took
  // more than kSlowCollective times as long: most likely waiting for other ranks. 0: none did.
  i64 slow_collectives_ns = 0;
  double waited = -1;  // share of its time that the main thread waited for a CPU, read by the finisher; -1: not known

  bool on_busy_machine() const { return waited > kWaitsMuch; }

  const IdleLane* gpu = nullptr;       // the device that is busy longest; nullptr: none
  const Exposed* gpu_time = nullptr;   // the times of that device
  const DeviceInfo* device = nullptr;  // nullptr: its properties are not known

  double step_ns() const { return overview.average.us * 1000; }
  // The share of the time of all steps; more than 1 is possible if `ns` sums up times that overlap.
  double share(double ns) const { return windows.steps_ns() > 0 ? ns / windows.steps_ns() : 0; }
  double sum_ns(Category c) const {  // over all steps
    return overview.average.by[u32(c)] * 1000 * double(overview.steps.size());
  }
  bool inside(i64 ns) const { return windows.holds(ns); }

  // What is not known and why, one line each: missing data is reported here and not shown as zero.
  std::vector<std::string> unknown() const;
};

}  // namespace tprof
