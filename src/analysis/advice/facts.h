// All that is known of one Model, computed once: what the rules of the advice look at and what a diff compares.
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

struct Facts {
  // Both must outlive this.
  Facts(const Model& model, const std::vector<DevicePeak>& table);
  Facts(const Facts&) = delete;  // it points into itself

  const Model& model;
  Words words;
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
  std::vector<i64> device_ns;   // by event: GPU work launched in it and below
  IntervalSet computing;        // a GPU runs a kernel: what the host does meanwhile holds nothing up
  std::vector<PathPiece> path;  // of all steps, in order of time: what of it is GPU work
  bool trains = false;          // gradients are computed or applied
  // An optimizer steps, and no backward pass is in the trace: threads are missing from it.
  bool lacks_backward = false;
  // A CUDA graph is captured in the steps, which is done once: what it takes is not what its replay takes.
  bool captures = false;
  // Part of a trace: calls, and so most of the GPU's work, were left out. Where it idled is not known.
  bool is_excerpt = false;
  bool replays_graphs = false;  // most of the GPU's work is launched as CUDA graphs

  RankFacts rank;               // in a job whose other ranks were read too: set by whoever read them
  std::vector<bool> exchanges;  // by Model::gpu: CollectiveCall::exchanges_gradients()
  // What collectives took beyond another one of the same kind that moved as much (the excess of those that took more
  // than kSlowCollective times as long): most likely waiting for other ranks. 0: nothing tells.
  i64 slow_collectives_ns = 0;
  double waited = -1;  // share of the time that the main thread waited for a CPU, as the finisher read it; -1 not known

  bool on_busy_machine() const { return waited > kWaitsMuch; }

  const IdleLane* gpu = nullptr;       // the device that is busy longest; nullptr: none
  const Exposed* gpu_time = nullptr;   // of the same
  const DeviceInfo* device = nullptr;  // nullptr: its properties are not known

  double step_ns() const { return overview.average.us * 1000; }
  // Of the time of all steps; of what overlaps it may be more than 1.
  double share(double ns) const { return windows.steps_ns() > 0 ? ns / windows.steps_ns() : 0; }
  double sum_ns(Category c) const {  // over all steps
    return overview.average.by[static_cast<u32>(c)] * 1000 * double(overview.steps.size());
  }
  bool inside(i64 ns) const { return windows.holds(ns); }

  // What could not be known, one line each: nothing is shown as zero for want of data.
  std::vector<std::string> unknown() const;
};

}  // namespace tprof
