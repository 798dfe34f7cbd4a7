// A Kineto trace -> the Model: traces of torch.profiler of any age and of tprof, plain or gzip, of any size in bounded
// memory.
//
// Both generations of categories are read (categories.def). Damage is repaired and counted (Ledger::repaired), or left
// out and counted (Ledger::dropped, and by category Ledger::left_out). A file that is truncated, or no trace at all, is
// an Error: tables of half a trace would be wrong without anybody noticing.
//
// GPU activities, of which a trace holds only what viewers need, become records in the Model's arena; unknown fields
// are 0, as in recordings. Inputs and call stacks have the form of the Model.
#pragma once
#include <string>

#include "model/plugin_trace.h"
#include "model/trace.h"

namespace tprof::kineto {

// Throws Error(Fault::unreadable). `plugin`, if given, is filled for --plugin-compat.
Model read_trace(const std::string& path, PluginTrace* plugin = nullptr);

}  // namespace tprof::kineto
