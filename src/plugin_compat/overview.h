// The Overview as torch_tb_profiler computes it, and why its figures differ from ours.
#pragma once
#include <string>
#include <vector>

#include "analysis/time/overview.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h

// Throws Error where the plugin drops the file.
Overview plugin_overview(const Model& model, const PluginTrace& trace);

// Which of the plugin's figures differ and why, one line each.
std::vector<std::string> differences(const Model& model, const PluginTrace& trace, const Overview& ours,
                                     const Overview& plugin);

}  // namespace tprof
