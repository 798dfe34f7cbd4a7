// What changed between two runs, per step: the step, its categories, operators, kernels and modules.
//
// A side is all workers and spans of a run: every step of every one is a sample, over all threads. What exists on one
// side only is kept. A change is called one only where it lies outside of what the steps' own spread explains.
#pragma once
#include <map>
#include <string>

#include "analysis/bootstrap.h"
#include "analysis/steps.h"

namespace tprof {

// DIFF_BY(name, "what a row is", "what its time is")
#define TPROF_DIFF_BY(DIFF_BY)                                                            \
  DIFF_BY(step, "Step", "duration")                                                       \
  DIFF_BY(category, "Category", "share of the step's time, each moment given to one")     \
  DIFF_BY(operator_host, "Operator on the host", "self time on its thread")               \
  DIFF_BY(operator_device, "Operator on the GPU", "time of the work it launched itself")  \
  DIFF_BY(kernel, "Kernel", "time on the GPU, by begin")                                  \
  DIFF_BY(module, "Module", "time in its calls, with what lies inside")

enum class DiffBy : u8 {
#define DIFF_BY(name, text, time) name,
  TPROF_DIFF_BY(DIFF_BY)
#undef DIFF_BY
};
constexpr u32 kDiffBys = static_cast<u32>(DiffBy::module) + 1;
const char* diff_by_text(DiffBy by);
const char* diff_by_word(DiffBy by);  // for JSON: "operator_host"

// One side, filled from its traces one after the other: no Model is kept.
class DiffSide {
 public:
  void add(const Model& model);

  struct Entry {
    StepValues ns;
    double calls = 0;
  };
  size_t steps() const { return step_ns_.size(); }
  const StepValues& step_ns() const { return step_ns_; }
  const std::map<std::string, Entry>& of(DiffBy by) const { return entries_[static_cast<u32>(by)]; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void count(DiffBy by, const std::string& name, u32 step, double ns);

  StepValues step_ns_;
  std::map<std::string, Entry> entries_[kDiffBys];
  std::vector<std::string> notes_;
};

struct DiffRow {
  DiffBy by;
  std::string name;
  double a_ns = 0, b_ns = 0;        // mean per step
  double a_calls = 0, b_calls = 0;  // per step
  bool in_a = true, in_b = true;
  SureInterval interval;            // of b_ns - a_ns, 95 %

  double delta_ns() const { return b_ns - a_ns; }
  // Of A; 0 where A has nothing.
  double ratio() const { return a_ns > 0 ? delta_ns() / a_ns : 0; }
};

constexpr double kSameRatio = 0.02;  // a change below it is none worth a line

struct Diff {
  size_t a_steps = 0, b_steps = 0;
  DiffRow step;
  std::vector<DiffRow> rows;  // by DiffBy, largest change first
  std::vector<std::string> notes;

  // The category that changed most in the direction of the step; nullptr: no step changed.
  const DiffRow* explains() const;
  // One sentence: step time before and after, and what explains it.
  std::string story() const;
};
Diff diff(const DiffSide& a, const DiffSide& b);

// Steps of B take longer than those of A by more than `ratio` of them, and that is not noise.
enum class Regression : u8 { no, yes, unknown };  // unknown: longer, but too few steps to tell from noise
Regression regression(const Diff& diff, double ratio);

}  // namespace tprof
