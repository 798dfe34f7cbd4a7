// The metadata of a finished trace: its head (everything before traceEvents) and its ledger (the object `tprof` after
// them), read without parsing the events. Also, which files of a directory are traces or recordings of tprof.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"
#include "input/step_marks.h"
#include "json/json.h"

namespace tprof {

struct TraceSummary {
  Json head;    // schemaVersion, deviceProperties, ...; null when there is none
  Json ledger;  // null: the trace is not tprof's, or it is cut off
  u64 written = 0;
  u64 dropped = 0;
  std::vector<StepMark> steps;  // none of a trace that is not tprof's
};

// Throws Error(Fault::unreadable) if the file cannot be read or its compression is damaged.
TraceSummary read_summary(const std::string& trace);

bool is_trace_name(const std::string& name);      // *.pt.trace.json[.gz]
bool is_recording_name(const std::string& name);  // *.tprof
bool is_directory(const std::string& path);       // false also if it cannot be told

// The sorted paths of those entries of a directory whose names are accepted. Empty if the directory cannot be read.
std::vector<std::string> list_files(const std::string& directory, bool (*accept)(const std::string&));

}  // namespace tprof
