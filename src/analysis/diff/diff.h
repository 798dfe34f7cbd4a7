// What changed between two sides, per step: the step, its categories, operators, kernels and modules.
//
// If both sides have several runs, the runs are the sample: their spread shows whether a difference is significant.
// With one run on a side the steps are the sample, which do not show how much runs of the same program differ. What
// exists on one side only is kept.
#pragma once
#include <string>

#include "analysis/diff/alike.h"
#include "analysis/diff/side.h"
#include "analysis/diff/tree.h"

namespace tprof {

struct DiffRow {
  DiffBy by;
  std::string name;
  double a_ns = 0, b_ns = 0;        // mean per step
  double a_calls = 0, b_calls = 0;  // per step
  bool in_a = true, in_b = true;
  SureInterval interval = {};  // of b_ns - a_ns
  bool changed = false;        // see kFalseRows

  double delta_ns() const { return b_ns - a_ns; }
  // The change as a share of A; 0 if A has nothing.
  double ratio() const { return a_ns > 0 ? delta_ns() / a_ns : 0; }
};

constexpr double kSameRatio = 0.02;  // smaller changes are not worth a line
constexpr double kSure = 0.95;
// For the second comparison besides the mean of all steps: two comparisons require a stricter level.
constexpr double kSureOfSecond = 0.975;
// With many rows, one in twenty unchanged ones lies outside its interval by chance. Rows are therefore called changed
// so that at most this share of them is wrong (the procedure of Benjamini and Hochberg, for each kind of row).
constexpr double kFalseRows = 0.05;
constexpr size_t kRunsToDecide = 3;

enum class Verdict : u8 {
  unknown,  // one run on a side: nothing can be said about the program
  noise,
  changed,         // the mean of all steps
  second_changed,  // only Diff::second
};

// A figure of the machine on both sides, means over the runs that know it.
struct MachineDiff {
  u32 figure;  // of kMachineRows
  double a, b;
  bool apart = false;  // all runs of one side lie above all of the other's, by more than the row's limits
};

struct Diff {
  size_t a_steps = 0, b_steps = 0, a_runs = 0, b_runs = 0;
  bool of_runs = false;  // the sample is runs; else blocks of steps
  DiffRow step;
  // The second comparison, if runs are the sample: the mean without the time that the main thread waited for a CPU, if
  // it did and that is known; else the mean of the middle half of each run's steps. Which of the two is used does not
  // depend on how much the sides differ.
  DiffRow second;
  enum class Second : u8 { none, less_waiting, typical } asks = Second::none;
  std::vector<DiffRow> rows;  // by DiffBy, largest change first
  DiffTree tree;              // of operators, labels and modules, per step
  std::vector<Alike> alike;   // those found
  std::vector<MachineDiff> machine;
  std::vector<std::string> remarks;  // how sure it is, what else may explain it
  std::vector<std::string> notes;    // what is not known

  size_t fewest_runs() const { return a_runs < b_runs ? a_runs : b_runs; }
  Verdict verdict() const;
  // The category that changed most in the direction of the step; nullptr: no step changed.
  const DiffRow* explains() const;
  // One sentence: step time before and after, whether that is more than noise, and what explains it.
  std::string story() const;
};
// Both sides finished.
Diff diff(const DiffSide& a, const DiffSide& b);

// Whether steps of B take longer than those of A by more than this share, and that is not noise. Unknown with fewer
// than kRunsToDecide runs on a side, unless `few_runs` is set: then the existing runs decide, or the steps of a single
// run.
enum class Regression : u8 { no, yes, unknown };
Regression regression(const Diff& diff, double ratio, bool few_runs);

}  // namespace tprof
