// What the main thread did, from samples of its stack (Model::samples): by Python function and line, by native function
// if native frames were read, and in which of the step's categories. A sample counts for the time from one look of the
// sampler to the next.
#pragma once
#include <optional>
#include <string>

#include "analysis/basis/windows.h"

namespace tprof {

using SamplesByCategory = std::array<u64, kCategories>;

// A function, or a line of one. What is on a stack twice counts once. Among Python functions and lines only Python
// frames count: what native code does on their behalf is their own.
struct SampledPlace {
  std::string function, file;  // file: the image of a native function without debug information
  i64 line = -1;  // that ran; for a function the one that ran most often itself, else most often in a call; -1: unknown
  u64 self = 0, total = 0;  // samples: as the innermost frame, and anywhere on the stack
  u64 on_cpu = 0, gil = 0;  // of `self`: the thread ran, and held the GIL
  SamplesByCategory by{};   // of `self`
  SamplesByCategory total_by{};
  u32 op = kNone;          // the name of the operator that most of `self` were in, an index into Model::names
  u64 op_samples = 0;      // how many; 0: none were in one
  std::string native;      // of Python: the native function that most of `self` were in; empty: not known
  u64 native_samples = 0;  // how many
};

// Another thread.
struct SampledThread {
  u32 thread = 0;  // index into Model::threads
  u64 samples = 0, on_cpu = 0, gil = 0;
};

struct PythonSamples {
  u32 thread = kNone;    // the one that was analysed: that of the steps, if it has samples; else the one with most
  u64 samples = 0;       // of it, in the windows' time
  u64 outside = 0;       // of it, outside
  double period_ns = 0;  // for which a sample counts
  SamplesByCategory by{};
  std::vector<SampledPlace> functions, lines, natives;  // most `self` first
  std::vector<SampledThread> threads;                   // all of them
};
// For how long a sample counts: the time from one look of the sampler to the next.
double sample_period_ns(const Sampled& sampled);
PythonSamples python_samples(const Model& model, const NameClasses& classes, const Windows& windows);

// What most of the main thread's samples in some time have in common: the innermost line of the program, and not of a
// library, that is on at least a third of their stacks.
struct PythonSpot {
  std::string function, file;
  i64 line = -1;
  u64 samples = 0, of = 0;  // on how many stacks, of how many

  double share() const { return of ? double(samples) / double(of) : 0; }
  // "file:line function"
  std::string text() const {
    return file + (line >= 0 ? ":" + std::to_string(line) : "") + (file.empty() ? "" : " ") + function;
  }
};
std::optional<PythonSpot> python_spot(const Model& model, const IntervalSet& time);

// The time of the steps that is Category::other.
IntervalSet other_time(const Model& model, const NameClasses& classes, const Windows& windows);

}  // namespace tprof
