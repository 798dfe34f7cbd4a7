// The Distributed view as torch_tb_profiler computes it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "analysis/ranks/distributed_view.h"

namespace tprof {

struct PluginTrace;  // model/plugin_trace.h
struct PluginRank;   // what is kept of a trace when the next one is read

std::shared_ptr<const PluginRank> plugin_rank_of(const Model& model, const PluginTrace& trace,
                                                 const std::string& worker);
// For the workers of one run and span. If the plugin would not show the view (a worker does not communicate, numbers of
// calls differ ...), there are no rows, and a note states why.
DistributedView plugin_distributed_view(std::vector<std::shared_ptr<const PluginRank>> ranks);

}  // namespace tprof
