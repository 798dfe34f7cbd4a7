// A Kineto trace -> the Model: torch.profiler's of any age and our own, plain or gzip, of any size in bounded memory.
//
// Both generations of words are read (categories.def). What is damaged is repaired and counted (Ledger::repaired), or
// left out and counted (Ledger::dropped, and by category Ledger::left_out); a file that is cut off, or not a trace at
// all, is an Error: tables of half a trace would be wrong in ways that nobody sees.
//
// GPU work, of which a trace only says what a viewer needs, becomes records in the Model's arena; what they do not know
// is 0, as in recordings. Inputs and call stacks have the Model's own form.
#pragma once
#include <string>

#include "model/plugin_trace.h"
#include "model/trace.h"

namespace tprof::kineto {

// Throws Error(Fault::unreadable). `plugin`: filled for --plugin-compat, if given.
Model read_trace(const std::string& path, PluginTrace* plugin = nullptr);

}  // namespace tprof::kineto
