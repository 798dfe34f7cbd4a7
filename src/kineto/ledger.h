// The ledger of a trace: the top-level object `tprof` behind traceEvents. What was seen, written and dropped,
// which parts of the profiler worked, how steps were found, what our own work cost. Nothing is lost silently.
#pragma once
#include <nlohmann/json.hpp>

#include "model/trace.h"

namespace tprof::kineto {

nlohmann::ordered_json ledger_of(const Model& model);

}  // namespace tprof::kineto
