// One side of a diff: the steps of its runs, and what filled them. No Model is kept.
//
// A run is all workers and spans of one start of a program; every step of every one counts, over all threads.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/basis/steps.h"
#include "analysis/diff/sample.h"
#include "analysis/tables/call_tree.h"
#include "model/machine.h"

namespace tprof {

// DIFF_BY(name, "what a row is", "what its time is")
#define TPROF_DIFF_BY(DIFF_BY)                                                           \
  DIFF_BY(step, "Step", "duration")                                                      \
  DIFF_BY(category, "Category", "share of the step's time, each moment counted once")    \
  DIFF_BY(operator_host, "Operator on the host", "self time on its thread")              \
  DIFF_BY(operator_device, "Operator on the GPU", "time of the work it launched itself") \
  DIFF_BY(kernel, "Kernel", "time on the GPU, by start")                                 \
  DIFF_BY(module, "Module", "time in its calls, including nested calls")

enum class DiffBy : u8 {
#define DIFF_BY(name, text, time) name,
  TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
};
constexpr u32 kDiffBys = u32(DiffBy::module) + 1;
const char* diff_by_text(DiffBy by);
const char* diff_by_word(DiffBy by);  // for JSON: "operator_host"

// Values of some steps of a side; those that are not listed are 0.
struct StepValue {
  u32 step;
  double value;
};
using StepValues = std::vector<StepValue>;

class DiffSide {
 public:
  // `run`: anything that tells it from other runs.
  void add(const Model& model, const std::string& run = "");

  struct Entry {
    StepValues ns;
    double calls = 0;
  };
  struct Step {
    u32 run;
    i64 begin_ns;
    double ns;
  };
  struct Run {
    std::vector<u32> steps;        // in order of begin
    i64 begin_ns = 0, end_ns = 0;  // of its first and last step: since the epoch, if the trace has that
    std::string host;
    MachineFigures machine;  // means over its traces
  };
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Run>& runs() const { return runs_; }
  Entry all_steps() const;
  const std::map<std::string, Entry>& of(DiffBy by) const { return entries_[u32(by)]; }
  const std::vector<std::string>& notes() const { return notes_; }

  // For operators, labels and modules: calls per step, times as mean() has them.
  CallTree calls() const;

  // Sorts the runs' steps; call it after the last add().
  void finish();

  // The mean per step over all runs; all runs have the same weight.
  double mean(const StepValues& values) const;
  // With several runs: one value per run, its mean per step. Otherwise one per block of consecutive steps, because
  // neighbours are correlated: no values if a run has fewer than three consecutive steps.
  Sample sample(const StepValues& values, bool of_runs) const;

  // The mean of the middle half of each run's steps, by length: stalls of a few steps do not affect it.
  Sample typical_sample() const;              // of runs
  static constexpr size_t kTypicalSteps = 4;  // a run with fewer has no middle half

  // The mean without the share of each run's time in which its main thread waited for a CPU. No values if that is not
  // known for some run.
  Sample sample_less_waiting() const;  // of runs
  double longest_waiting() const;      // the highest share of a run

 private:
  struct Blocks {
    std::vector<u32> of_step;    // by the side's step
    std::vector<double> counts;  // steps of each; empty: the run is too short
  };
  void count(DiffBy by, const std::string& name, u32 step, double ns);
  void add_machine(const Model& model, Run& run);
  Blocks blocks_of(const Run& run) const;
  std::vector<double> lengths(const std::vector<u32>& steps) const;

  std::vector<Step> steps_;
  std::vector<Run> runs_;
  std::vector<CallTree> trees_;  // by run: sums over its steps
  std::vector<Blocks> blocks_;   // by run
  std::map<std::string, u32> run_numbers_;
  std::vector<std::array<u32, kMachineFigures>> machine_counts_;  // by run: traces that know the figure
  std::map<std::string, Entry> entries_[kDiffBys];
  std::vector<std::string> notes_;
};

}  // namespace tprof
