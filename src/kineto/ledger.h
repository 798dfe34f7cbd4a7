// The ledger of a trace: the top-level object `tprof` after traceEvents. It states how many events were seen, written
// and dropped, which parts of the profiler worked, how steps were found and what profiling cost, so that nothing is
// lost silently.
#pragma once

#include "json/json.h"
#include "model/counted.h"
#include "model/machine.h"

namespace tprof::kineto {

Json ledger_of(const Model& model);

// A ledger that was read, without members of another type than ledger_of() writes; null if it is no object.
Json well_typed(const Json& ledger);

// The steps that a ledger states; none if it states none.
Counted read_counted(const Json& ledger);

Sampled read_sampled(const Json& ledger);

MachineFigures read_machine(const Json& ledger);

// What asked for the trace.
TriggerFacts read_trigger(const Json& ledger);

// The boot that a ledger states, empty if none.
std::string read_boot(const Json& ledger);

// Whether the program died inside of the trace, and by which signal: Model::process_ended_inside and killed_by.
struct Death {
  bool inside = false;
  int signal = 0;
};
Death read_death(const Json& ledger);

// Marks the ledger of a trace of inference, after which the program began to train. Returns false if it was marked
// already, or has no such steps.
bool mark_ledger_before_training(Json& ledger);

// The position of the ledger's key in the end of a trace; npos: there is none. It cannot be found inside of a name,
// since a quote in a string is escaped.
inline size_t find_ledger(std::string_view tail) { return tail.rfind("\"tprof\":"); }

}  // namespace tprof::kineto
