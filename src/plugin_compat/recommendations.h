// The seven conditions under which the plugin recommends something, in its order.
#pragma once
#include <string_view>

#include "analysis/time/overview.h"
#include "plugin_compat/tensor_cores.h"

namespace tprof {

enum class PluginLibrary : u8 { none, nccl, gloo };

// The library of a communication operator, by the ten names that the plugin knows.
PluginLibrary library_of(std::string_view name);

// Whether the event is in the plugin's trees, or only left out of them because of its name.
bool is_plugin_node(PluginType type);

// `overview`: as computed so far. `tensor_cores`: nullptr without kernels that compute.
std::vector<Recommendation> plugin_recommendations(const Model& model, const PluginTrace& trace,
                                                   const Overview& overview, const PluginTensorCores* tensor_cores);

}  // namespace tprof
