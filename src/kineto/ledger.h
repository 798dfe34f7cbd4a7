// The ledger of a trace: the top-level object `tprof` behind traceEvents. What was seen, written and dropped,
// which parts of the profiler worked, how steps were found, what our own work cost. Nothing is lost silently.
#pragma once
#include <nlohmann/json.hpp>

#include "model/counted.h"
#include "model/machine.h"

namespace tprof::kineto {

nlohmann::ordered_json ledger_of(const Model& model);

// A ledger that was read, less what has another type than ledger_of() gives it; null if it is no object.
nlohmann::ordered_json well_typed(const nlohmann::ordered_json& ledger);

// What a ledger says of steps; nothing where it does not.
Counted read_counted(const nlohmann::ordered_json& ledger);

MachineFigures read_machine(const nlohmann::ordered_json& ledger);

// Of inference, after which the program began to train: now it says so. False: it did already, or has no such steps.
bool say_before_training(nlohmann::ordered_json& ledger);

// Where the ledger's key begins in the end of a trace, npos: there is none. A quote inside a string is escaped, so it
// cannot be found inside a name.
inline size_t find_ledger(std::string_view tail) { return tail.rfind("\"tprof\":"); }

}  // namespace tprof::kineto
