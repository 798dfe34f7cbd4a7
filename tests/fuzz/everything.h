// All that tprof makes of a Model.
#pragma once
#include "model/plugin_trace.h"
#include "model/trace.h"

namespace tprof::fuzz {

// Computes overview, advice, every table of `tprof stats` by both sets of rules, the timeline, and what is found of two
// ranks that have this Model. The plugin's rules may refuse a trace with an Error, as the plugin does.
void look_at_everything(const Model& model, const PluginTrace& plugin);

// Computes the tables that show samples.
void look_at_samples(const Model& model);

}  // namespace tprof::fuzz
