// The stages that a step of a rank consists of, and in which stage ranks differ.
//
// A moment counts for one stage. On GPUs it is the one that the overview counts it for, and GPU work counts for the
// phase of the operator that launched it, if there is one. On CPUs operators are the work: a moment counts for the
// DataLoader, else for operators by phase, else for collectives, else for Python.
//
// The comparison is that of StageFrontier (arXiv 2606.06751): each rank has an ordered vector of the durations of its
// stages, of which no clocks are compared. The frontier is the maximum over the ranks of the time up to the end of a
// stage; its increments sum to the longest step of all ranks, and say what each stage adds to it.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "analysis/basis/windows.h"

namespace tprof {

// In the order of a step. STAGE(name, "text")
#define TPROF_STAGES(STAGE)             \
  STAGE(loader, "DataLoader")           \
  STAGE(forward, "forward operators")   \
  STAGE(backward, "backward operators") \
  STAGE(optimizer, "optimizer")         \
  STAGE(kernels, "GPU work")            \
  STAGE(python, "Python and other")     \
  STAGE(collective, "collectives")

enum class Stage : u8 {
#define STAGE(name, text) name,
  TPROF_STAGES(STAGE)
#undef STAGE
};
constexpr u32 kStages = u32(Stage::collective) + 1;
const char* stage_text(Stage stage);

using StageTimes = std::array<i64, kStages>;  // ns

// How much work there was, to tell more work from a slow machine; of the steps.
struct WorkAmount {
  u64 operators = 0;
  i64 elements = -1;  // of the inputs of operators; -1: not recorded
};
WorkAmount work_of(const Model& model, const NameClasses& classes, const Windows& windows);

// The stages of each step of a process that computes on CPUs. `calls`: when its collectives ran.
std::vector<StageTimes> host_stages(const Model& model, const NameClasses& classes, const Windows& windows,
                                    const IntervalSet& calls);

// The GPU work of each step by the phase of the operators that launched it, without communication; what was launched by
// none is in no stage.
std::vector<StageTimes> gpu_phases(const Model& model, const NameClasses& classes, const Windows& windows);

// One stage over all ranks and the steps that they have in common.
struct StageRow {
  Stage stage;
  i64 mean_ns = 0;      // per step, over steps and ranks
  i64 frontier_ns = 0;  // what it adds to the longest step, per step
  u32 slowest = 0;      // the rank that was the slowest of it in most steps: index into the ranks
  u64 slowest_in = 0;
  i64 excess_ns = 0;  // of that rank, over the median of the others, per step
};

}  // namespace tprof
