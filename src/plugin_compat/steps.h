// The basis of the plugin's Overview and Distributed views: the ranges that it assigns to each category, and what it
// takes for steps. Times are the file's microseconds.
#pragma once
#include <limits>
#include <string>

#include "analysis/basis/steps.h"
#include "plugin_compat/ranges.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

constexpr double kPluginNever = std::numeric_limits<double>::infinity();

struct PluginStep {
  double begin, end;
  std::string name;                                                // "5" of ProfilerStep#5
  double device_begin = kPluginNever, device_end = -kPluginNever;  // of the work that calls inside it launched
  u64 activities = 0;
};

struct PluginSteps {
  PluginRanges ranges[kCategories - 1];  // by category; each merged
  std::vector<PluginStep> steps;         // those that are shown; each lasts until its GPU work ends
  size_t all_steps = 0;                  // of the trace: the plugin leaves out last steps that look incomplete
  // From the profiler's own span where the trace has one, else of all ranges: what its series are drawn over.
  PluginRange span{kPluginNever, -kPluginNever};

  const PluginRanges& of(Category c) const { return ranges[u32(c)]; }
  PluginRange from_first_to_last() const { return {steps.front().begin, steps.back().end}; }
};
// Throws Error where the plugin drops the file.
PluginSteps plugin_steps(const Model& model, const PluginTrace& trace);

}  // namespace tprof
