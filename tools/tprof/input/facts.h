// The facts of a rank beside its trace: what is kept of a trace for a look at all ranks (Rank), so that a thousand
// ranks can be compared without reading their traces.
//
// The finisher writes them at the end of each window, where the recording is, for processes that are ranks of a job.
// <worker>.<stamp>.rank_facts is JSON, schema 2: keys are only ever added. It states the size of its trace, and is
// not used if the trace has another one.
#pragma once
#include <optional>
#include <string>

#include "analysis/ranks/rank.h"

namespace tprof {

// The name of the facts of a trace; empty if the trace has no name that the plugin accepts.
std::string facts_name(const std::string& trace);

// Writes the facts of a trace that was just written from this Model; nothing if the process is no rank.
void write_facts(const Model& model, const std::string& trace);

// The same, for whom the trace is all that matters: without them it is read.
void try_to_write_facts(const Model& model, const std::string& trace);

// Nothing: there are none, or they are of another file.
std::optional<Rank> read_facts(const std::string& trace);

}  // namespace tprof
