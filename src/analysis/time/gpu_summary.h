// How busy each GPU was over the steps: the plugin's GPU summary.
#pragma once
#include "analysis/basis/windows.h"
#include "analysis/time/overview.h"

namespace tprof {

// Figures of every device that ran a kernel; adds a note for what the trace does not state.
std::vector<GpuFigures> gpu_figures(const Model& model, const Windows& windows, std::vector<std::string>& notes);

}  // namespace tprof
