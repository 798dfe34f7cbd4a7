// Where the time of a run went: what torch_tb_profiler's Overview shows, by tprof's rules (overview.cpp) or by its own
// (plugin_compat/overview).
//
// Each moment of a step counts for the first category that is busy. By tprof's rules a step's times sum to its length,
// driver calls are Runtime, NCCL kernels are Communication whatever their ids, host ranges that only enqueue them are
// not, and steps that a trace repeats for the GPU are ignored.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/basis/rule_set.h"
#include "analysis/basis/steps.h"
#include "analysis/time/loaders.h"
#include "analysis/time/own_cost.h"
#include "analysis/time/python_samples.h"
#include "model/counted.h"

namespace tprof {

using CategoryTimes = std::array<double, kCategories>;  // us

struct StepTimes {
  std::string name;  // "5" of ProfilerStep#5
  double us = 0;
  CategoryTimes by{};
};
StepTimes average_of(const std::vector<StepTimes>& steps);  // named "average"; zero without steps

i64 whole_ns(double us);  // the nearest: every output rounds times this way that are not sums of whole ns

struct GpuFigures {
  u32 device = 0;
  std::string name;            // empty: not known; so is -1 below
  bool name_is_empty = false;  // the trace states an empty name, which the plugin shows
  double memory_bytes = -1;
  i64 compute_major = -1, compute_minor = -1;
  // Time in which a kernel ran / time of all steps; 0 to 1.
  double utilization = -1;
  // Integral of min(blocks per SM of the running kernels, 1) / time of all steps; 0 to 1.
  double sm_efficiency = -1;
  double occupancy = -1;  // estimated, mean over kernel time in the steps; percent
  // Shares of kernel time, 0 to 1: certainly on tensor cores; possibly (tprof's rules only).
  double tensor_cores = -1, tensor_cores_unknown = 0;
};

// One of the plugin's seven recommendations, with its figures.
struct Recommendation {
  const char* id;
  std::string text;
  std::vector<std::pair<const char*, double>> values;
};

struct Overview {
  RuleSet rules = RuleSet::tprof;
  bool uses_gpu = false, communicates = false;
  // False: a device was called, but its work is missing from the trace or recorded as kinds that are not analysed.
  bool work_known = true;
  std::vector<GpuFigures> gpus;
  std::vector<StepTimes> steps;  // those that count
  StepTimes average;
  TriggerFacts trigger;             // tprof's rules only, too
  Counted counted;                  // tprof's rules only: what the trace holds, including evaluations outside the steps
  i64 span_ns = 0;                  // of the trace
  OwnCost own;                      // tprof's rules only
  std::optional<PythonSpot> other;  // tprof's rules only: what Category::other is made of, if stacks were sampled
  std::vector<LoaderUse> loaders;   // tprof's rules only: DataLoaders with workers
  std::vector<Recommendation> recommendations;  // the plugin's rules only; tprof's are in `tprof advise`
  std::vector<std::string> notes;               // what is not known, and why

  // Whether tables have a row for it; they leave out what the trace cannot have.
  bool shows(Category category) const {
    if (category == Category::communication) return communicates;
    return uses_gpu || category >= Category::data_loading;
  }
  // Whether its time is known: if GPU work is missing, its categories are not zero but unknown.
  bool knows(Category category) const { return work_known || category > Category::set; }
};

Overview overview_of(const Model& model);

}  // namespace tprof
