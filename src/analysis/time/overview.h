// Where the time of a run went: what torch_tb_profiler's Overview shows, by our rules (overview.cpp) or by its own
// (plugin_compat/overview).
//
// At each moment of a step the time is given to the first of the categories that is busy. By our rules a step's times
// sum to its length, calls through the driver are Runtime, kernels of NCCL are Communication whatever their ids say,
// ranges of the host that only enqueue them are not, and steps that a trace repeats for the GPU are no steps.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/basis/rule_set.h"
#include "analysis/basis/steps.h"
#include "analysis/time/own_cost.h"
#include "model/counted.h"

namespace tprof {

using CategoryTimes = std::array<double, kCategories>;  // us

struct StepTimes {
  std::string name;  // "5" of ProfilerStep#5
  double us = 0;
  CategoryTimes by{};
};
StepTimes average_of(const std::vector<StepTimes>& steps);  // named "average"; zero of none

i64 whole_ns(double us);  // the nearest: how every page and line rounds what is not a sum of whole ns

struct GpuFigures {
  u32 device = 0;
  std::string name;            // empty: not known, as -1 below
  bool name_is_empty = false;  // the trace states an empty one, which the plugin shows
  double memory_bytes = -1;
  i64 compute_major = -1, compute_minor = -1;
  // Time in which a kernel ran, by the time of all steps; 0 to 1.
  double utilization = -1;
  // Integral of min(blocks per SM of the kernels that run, 1), by the time of all steps; 0 to 1.
  double sm_efficiency = -1;
  double occupancy = -1;  // estimated, mean over kernel time in the steps; percent
  // By kernel time, 0 to 1: what ran on tensor cores for certain; what may have (our rules only).
  double tensor_cores = -1, tensor_cores_unknown = 0;
};

// One of the plugin's seven recommendations: its number in the plugin's order, and what it says in numbers.
struct Recommendation {
  const char* id;
  std::string text;
  std::vector<std::pair<const char*, double>> values;
};

struct Overview {
  RuleSet rules = RuleSet::tprof;
  bool uses_gpu = false, communicates = false;
  // False: a device was called, and the trace lacks what it did, or has it in kinds of events that are not analysed.
  bool work_known = true;
  std::vector<GpuFigures> gpus;
  std::vector<StepTimes> steps;  // that count
  StepTimes average;
  Counted counted;  // our rules only: what the trace holds, evaluations beside the steps as well
  i64 span_ns = 0;  // of the trace
  OwnCost own;      // our rules only
  std::vector<Recommendation> recommendations;  // the plugin's rules only; ours are `tprof advise`
  std::vector<std::string> notes;               // what could not be known, and why

  // A row of the tables, or left out because the trace cannot have any.
  bool shows(Category category) const {
    if (category == Category::communication) return communicates;
    return uses_gpu || category >= Category::data_loading;
  }
  // How long the device worked is not known where its work is not; nothing unknown is zero.
  bool knows(Category category) const { return work_known || category > Category::set; }
};

Overview overview_of(const Model& model);

}  // namespace tprof
