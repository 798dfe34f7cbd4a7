// What a finished trace says about itself: its head (everything before traceEvents) and its ledger (the
// object `tprof` behind them), without parsing the events in between. And which files of a directory are
// ours.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

struct TraceSummary {
  nlohmann::ordered_json head;    // schemaVersion, deviceProperties, ...; null when there is none
  nlohmann::ordered_json ledger;  // null: no trace of tprof's, or a cut one
  u64 written = 0;
  u64 dropped = 0;
};

// Throws Error(Fault::unreadable) when the file cannot be read or its compression is damaged.
TraceSummary read_summary(const std::string& trace);

bool is_trace_name(const std::string& name);      // *.pt.trace.json[.gz]
bool is_recording_name(const std::string& name);  // *.tprof

// Full paths of the entries of a directory that a name test accepts, sorted. Empty when it cannot be read.
std::vector<std::string> list_files(const std::string& directory, bool (*accept)(const std::string&));

}  // namespace tprof
